import { type ByteReader, fill } from '../byte-reader.ts'
import type { RowFinder } from './row-finder.ts'

/** Whole rows of a text file, few enough to be worked on in one go. The block owns its memory. */
export interface TextBlock {
  readonly bytes: Uint8Array
  /** Start and end of each row in `bytes`, in turns. */
  readonly spans: Uint32Array
  /** Number of the first row, from 1. */
  readonly firstRow: number
  /** Where `bytes` begin in the file, after decompression. */
  readonly firstByte: number
  /** The block is only the beginning of one row that is longer than a row may be. */
  readonly isCut: boolean
}

export interface CutOptions {
  readonly blockBytes: number
  /** Longer rows are never held in memory as a whole. */
  readonly maxRowBytes: number
  /** Gives memory for blocks, of at least so many bytes; left out: new memory for each. */
  readonly allocate?: (bytes: number) => Buffer
}

/** How much of a row that is too long is kept, to be shown. */
const cutBytes = 4096
/** The first block of a file: most files of a folder of many are small. */
const firstBlockBytes = 256 * 1024

/** Cuts text into blocks of whole rows. */
export async function* cutText(
  reader: ByteReader,
  finder: RowFinder,
  { blockBytes, maxRowBytes, allocate = Buffer.allocUnsafeSlow }: CutOptions,
): AsyncGenerator<TextBlock> {
  let buffer = allocate(Math.min(blockBytes, firstBlockBytes))
  let filled = 0
  let firstRow = 1
  let firstByte = 0
  let isSkipping = false
  for (let atEnd = false; !atEnd; ) {
    const from = filled
    filled += await fill(reader, buffer.subarray(filled))
    atEnd = filled < buffer.length
    finder.scan(buffer, from, filled)
    if (atEnd) finder.finish(filled)
    if (isSkipping && finder.spans.length > 0) {
      finder.spans.splice(0, 2)
      isSkipping = false
    }
    const isTooLong = filled - finder.open > maxRowBytes
    if (finder.spans.length > 0 || isSkipping || finder.open > 0) {
      const end = isSkipping ? filled : finder.open
      const bytes = ownBytes(buffer, end)
      const block = { bytes, spans: Uint32Array.from(finder.spans), firstRow, firstByte }
      const rest = buffer.subarray(end, filled)
      buffer = allocate(Math.max(blockBytes, rest.length))
      rest.copy(buffer)
      // Before the block is given away: whoever takes it may move its memory to a thread.
      firstRow += block.spans.length / 2
      firstByte += end
      filled -= end
      finder.spans = []
      finder.shift(end)
      if (block.spans.length > 0) yield { ...block, isCut: false }
    } else if (isTooLong) {
      const bytes = new Uint8Array(buffer.subarray(0, cutBytes))
      yield { bytes, spans: Uint32Array.of(0, bytes.length), firstRow, firstByte, isCut: true }
      firstRow++
      firstByte += filled
      finder.shift(filled)
      filled = 0
      isSkipping = true
    } else if (!atEnd) {
      const larger = allocate(buffer.length * 2)
      buffer.copy(larger)
      buffer = larger
    }
  }
}

/** A block keeps its whole buffer alive: a small one is copied out of it. */
function ownBytes(buffer: Buffer, end: number): Uint8Array {
  return end < buffer.length / 2 ? new Uint8Array(buffer.subarray(0, end)) : buffer.subarray(0, end)
}
