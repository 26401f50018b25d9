/** The characters that byte-level vocabularies write bytes with: printable ones stand for themselves, others lie from U+0100 on. */
export const charOfByte: readonly string[] = (() => {
  const isPlain = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173)
  let others = 0
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPlain(byte) ? byte : 256 + others++))
})()

const byteOfChar = new Map(charOfByte.map((char, byte) => [char, byte]))

/** The bytes that a token of a byte-level vocabulary stands for; undefined for one that is written otherwise. */
export function bytesOfToken(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length)
  for (let at = 0; at < token.length; at++) {
    const byte = byteOfChar.get(token[at] ?? '')
    if (byte === undefined) return undefined
    bytes[at] = byte
  }
  return bytes
}
