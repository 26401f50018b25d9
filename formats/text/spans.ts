/** Calls with start, end and number of each span. */
export function forEachSpan(spans: Uint32Array, visit: (start: number, end: number, n: number) => void): void {
  for (let at = 0; at < spans.length; at += 2) visit(spans[at] ?? 0, spans[at + 1] ?? 0, at / 2)
}

/** Whether there is nothing but white space. */
export function isBlankSpan(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte !== 32 && byte !== 13 && byte !== 9) return false
  }
  return true
}

const excerptBytes = 240

/** The beginning of a span, for people: what is not UTF-8 shows as such. */
export function spanText(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('utf8', start, Math.min(end, start + excerptBytes))
}
