import type { TokenRow } from '../rows/token-row.ts'

/**
 * Rows as bytes, one after the other, each a multiple of four long (little-endian):
 *
 *     0  length of all of it, u32; 4 part, u32; 8 ids, u32; 12 numbers of spans, u32
 *    16  bytes of the promptId, u16; 18 bytes of the source, u16
 *    20  spans, u32 each; then ids, i32 each; then promptId and source as UTF-8; then zeros
 */
const at = { length: 0, part: 4, ids: 8, spans: 12, promptId: 16, source: 18 } as const
const headBytes = 20

/** Collects rows. */
export class RowPacker {
  #bytes: Buffer
  #used = 0
  rows = 0

  constructor(roomBytes = 1024 * 1024) {
    this.#bytes = Buffer.allocUnsafeSlow(roomBytes)
  }

  /** Adds a row and gives its length. */
  add({ promptId, part, source, ids, spans }: TokenRow): number {
    const textRoom = 3 * (promptId.length + source.length)
    this.#makeRoom(headBytes + 4 * (spans.length + ids.length) + textRoom + 4)
    const start = this.#used
    const bytes = this.#bytes
    let end = start + headBytes
    for (const span of spans) end = bytes.writeUInt32LE(span, end)
    bytes.set(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength), end)
    end += ids.byteLength
    const promptIdBytes = bytes.write(promptId, end, 'utf8')
    const sourceBytes = bytes.write(source, end + promptIdBytes, 'utf8')
    const textEnd = end + promptIdBytes + sourceBytes
    end = start + 4 * Math.ceil((textEnd - start) / 4)
    bytes.fill(0, textEnd, end)
    bytes.writeUInt32LE(end - start, start + at.length)
    bytes.writeUInt32LE(part, start + at.part)
    bytes.writeUInt32LE(ids.length, start + at.ids)
    bytes.writeUInt32LE(spans.length, start + at.spans)
    bytes.writeUInt16LE(promptIdBytes, start + at.promptId)
    bytes.writeUInt16LE(sourceBytes, start + at.source)
    this.#used = end
    this.rows++
    return end - start
  }

  /** What was added so far, in memory that is the packer's. */
  get packed(): Buffer {
    return this.#bytes.subarray(0, this.#used)
  }

  /** Forgets what was added. */
  clear(): void {
    this.#used = 0
    this.rows = 0
  }

  #makeRoom(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#used + bytes))
    this.#bytes.copy(larger, 0, 0, this.#used)
    this.#bytes = larger
  }
}

/** A packed row of which nothing has been decoded. */
export class PackedRow {
  #start = 0

  constructor(private readonly bytes: Buffer) {}

  /** The same object for another row. Returns where the next one begins. */
  moveTo(start: number): number {
    this.#start = start
    return start + this.length
  }

  /** Where it begins in the packed bytes. */
  get start(): number {
    return this.#start
  }

  get length(): number {
    return this.bytes.readUInt32LE(this.#start + at.length)
  }

  get part(): number {
    return this.bytes.readUInt32LE(this.#start + at.part)
  }

  get idCount(): number {
    return this.bytes.readUInt32LE(this.#start + at.ids)
  }

  get spans(): number[] {
    return Array.from({ length: this.#spanNumbers }, (_, n) => this.bytes.readUInt32LE(this.#start + headBytes + 4 * n))
  }

  /** The first supervised token; 0 where there is none. */
  get firstSupervised(): number {
    return this.#spanNumbers > 0 ? this.bytes.readUInt32LE(this.#start + headBytes) : 0
  }

  /** The ids as bytes, as they lie there. */
  get idBytes(): Buffer {
    return this.bytes.subarray(this.#idsAt, this.#idsAt + 4 * this.idCount)
  }

  get ids(): Int32Array {
    const { idBytes } = this
    const isAligned = idBytes.byteOffset % 4 === 0
    const bytes = isAligned ? idBytes : new Uint8Array(idBytes)
    return new Int32Array(bytes.buffer, bytes.byteOffset, this.idCount)
  }

  get promptId(): string {
    return this.bytes.toString('utf8', this.#textAt, this.#textAt + this.#promptIdBytes)
  }

  get source(): string {
    const start = this.#textAt + this.#promptIdBytes
    return this.bytes.toString('utf8', start, start + this.bytes.readUInt16LE(this.#start + at.source))
  }

  get #spanNumbers(): number {
    return this.bytes.readUInt32LE(this.#start + at.spans)
  }

  get #idsAt(): number {
    return this.#start + headBytes + 4 * this.#spanNumbers
  }

  get #textAt(): number {
    return this.#idsAt + 4 * this.idCount
  }

  get #promptIdBytes(): number {
    return this.bytes.readUInt16LE(this.#start + at.promptId)
  }
}

/** Every row of packed bytes: the same object each time. */
export function* packedRows(bytes: Buffer): Generator<PackedRow> {
  const row = new PackedRow(bytes)
  for (let start = 0; start < bytes.length; ) {
    const next = row.moveTo(start)
    yield row
    start = next
  }
}
