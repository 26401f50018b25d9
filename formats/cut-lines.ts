import type { ByteReader } from './byte-reader.ts'

/** Whole rows of a text file, small enough to be worked on in one go. */
export interface Block {
  /** Whole lines, except where `isCut`. */
  readonly bytes: Uint8Array
  /** Number of the first row, from 1, and where it begins in the (decompressed) file. */
  readonly firstRow: number
  readonly firstByte: number
  /** The block holds only the beginning of one row that is longer than a row may be. */
  readonly isCut?: true
}

export interface CutOptions {
  readonly blockBytes: number
  /** A longer row is not held in memory: only its beginning is given, marked as cut. */
  readonly maxRowBytes: number
}

const newline = 10
const excerptBytes = 4096

/** Cuts the lines of a file into blocks that own their memory, so that they can be handed to a thread. */
export async function* cutLines(reader: ByteReader, { blockBytes, maxRowBytes }: CutOptions): AsyncGenerator<Block> {
  let firstRow = 1
  let firstByte = 0
  let rest: Uint8Array = new Uint8Array(0)
  for (let atEnd = false; !atEnd; ) {
    let buffer: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(Math.max(blockBytes, rest.length))
    buffer.set(rest)
    let filled = rest.length
    let end = -1
    while (end < 0 && !atEnd) {
      if (filled === buffer.length) {
        if (filled > maxRowBytes) break
        buffer = grown(buffer)
      }
      const start = filled
      filled = await fill(reader, buffer, filled)
      atEnd = filled < buffer.length
      end = atEnd ? filled : buffer.subarray(start, filled).lastIndexOf(newline) + 1 + start
      if (!atEnd && end === start) end = -1
    }
    if (end < 0) {
      yield { bytes: new Uint8Array(buffer.subarray(0, excerptBytes)), firstRow, firstByte, isCut: true }
      const skipped = await skipLine(reader, buffer)
      firstByte += filled + skipped.bytes
      firstRow++
      rest = skipped.rest
      continue
    }
    const bytes = buffer.subarray(0, end)
    if (end > 0) yield { bytes, firstRow, firstByte }
    rest = new Uint8Array(buffer.subarray(end, filled))
    firstRow += countLines(bytes)
    firstByte += end
  }
}

async function fill(reader: ByteReader, buffer: Buffer, from: number): Promise<number> {
  let filled = from
  while (filled < buffer.length) {
    const read = await reader.read(buffer.subarray(filled))
    if (read === 0) break
    filled += read
  }
  return filled
}

function grown(buffer: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(buffer.length * 2)
  buffer.copy(larger)
  return larger
}

/** Reads on to the end of the line; gives what was read behind it. */
async function skipLine(reader: ByteReader, buffer: Buffer): Promise<{ bytes: number; rest: Uint8Array }> {
  let bytes = 0
  for (;;) {
    const read = await reader.read(buffer)
    if (read === 0) return { bytes, rest: new Uint8Array(0) }
    const end = buffer.subarray(0, read).indexOf(newline)
    if (end >= 0) return { bytes: bytes + end + 1, rest: new Uint8Array(buffer.subarray(end + 1, read)) }
    bytes += read
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}
