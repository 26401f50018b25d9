import { BadFile } from '../bad-file.ts'
import { type ByteReader, fill, readerOf } from '../byte-reader.ts'

/** A piece of one zstd frame: its header, one block, or its checksum, as they lie in the file (RFC 8878). */
export interface FramePart {
  readonly bytes: Uint8Array
  /** The frame ends here; with a checksum, its four bytes are the last ones. */
  readonly isLast: boolean
  readonly hasChecksum: boolean
}

const frameMagic = 0xfd2fb528
const skippableMagic = 0x184d2a50

/** Walks the frames of a zstd stream part by part. */
export async function* zstdFrames(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<FramePart> {
  const reader = readerOf(compressed)
  for (let magic = await take(reader, 4, true); magic; magic = await take(reader, 4, true)) {
    const kind = magic.readUInt32LE()
    if ((kind & 0xffff_fff0) >>> 0 === skippableMagic) {
      await skip(reader, (await take(reader, 4)).readUInt32LE())
      continue
    }
    if (kind !== frameMagic) throw new BadFile('corrupt', 'something that is not zstd follows a zstd frame')
    yield* frame(reader, magic)
  }
}

async function* frame(reader: ByteReader, magic: Buffer): AsyncGenerator<FramePart> {
  const descriptor = await take(reader, 1)
  const flags = descriptor[0] ?? 0
  const hasChecksum = (flags & 4) !== 0
  const rest = await take(reader, headerRest(flags))
  yield { bytes: Buffer.concat([magic, descriptor, rest]), isLast: false, hasChecksum }
  for (let isLastBlock = false; !isLastBlock; ) {
    const head = await take(reader, 3)
    const block = head.readUIntLE(0, 3)
    isLastBlock = (block & 1) === 1
    const isRepeatedByte = ((block >> 1) & 3) === 1
    const body = await take(reader, isRepeatedByte ? 1 : block >> 3)
    const isLast = isLastBlock && !hasChecksum
    yield { bytes: Buffer.concat([head, body]), isLast, hasChecksum }
  }
  if (hasChecksum) yield { bytes: await take(reader, 4), isLast: true, hasChecksum }
}

/** Bytes of a frame header behind its descriptor: window, dictionary id and content size, each there or not. */
function headerRest(flags: number): number {
  const isSingleSegment = (flags & 32) !== 0
  const window = isSingleSegment ? 0 : 1
  const dictionary = [0, 1, 2, 4][flags & 3] ?? 0
  const contentSize = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0
  return window + dictionary + contentSize
}

async function take(reader: ByteReader, bytes: number): Promise<Buffer>
async function take(reader: ByteReader, bytes: number, mayEnd: true): Promise<Buffer | undefined>
async function take(reader: ByteReader, bytes: number, mayEnd = false): Promise<Buffer | undefined> {
  const taken = Buffer.allocUnsafe(bytes)
  const filled = await fill(reader, taken)
  if (filled === 0 && mayEnd) return undefined
  if (filled < bytes) throw new BadFile('truncated', 'in the middle of a zstd frame')
  return taken
}

async function skip(reader: ByteReader, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; ) left -= (await take(reader, Math.min(left, 65_536))).length
}
