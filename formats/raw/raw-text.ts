import { isBlank, mediaMarks } from '../conversation/content.ts'

/** The string whose raw bytes, as they stand between the quotes in JSON, lie here. */
export function decodedText(bytes: Buffer, start: number, end: number): string {
  return JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string
}

/** First bytes of white space beyond ASCII as UTF-8; other letters may begin with them as well. */
const maybeSpace = new Set([0xc2, 0xe1, 0xe2, 0xe3, 0xef])
/** What stands for white space behind a backslash: n, r, t, f. */
const spaceEscapes = new Set([0x6e, 0x72, 0x74, 0x66])

/** Whether a string says nothing but white space, told from its raw bytes. */
export function isBlankRaw(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === 32) continue
    if (byte === 0x5c && spaceEscapes.has(bytes[at + 1] as number)) at++
    else return maybeSpace.has(byte) && isBlank(decodedText(bytes, start, end))
  }
  return true
}

const marks = mediaMarks.map((mark) => Buffer.from(mark))

/** Whether a string with a `<` in it refers to media, told from its raw bytes. */
export function hasMediaMarkRaw(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.subarray(start, end)
  return marks.some((mark) => text.includes(mark))
}
