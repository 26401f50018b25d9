import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fateOf } from './digest.ts'
import { entryAt, entryBytes, positionsByStep, stepAt } from './entry.ts'
import { writeIdIndex } from './id-index.ts'
import { StagedFile } from './staged-file.ts'
import { stepsOf } from './steps.ts'

/** Rows of one batch on disk, by the step of their order key: `<name>.rows` holds their bytes, `<name>.index` their entries. */
export interface Spill {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  /** How many entries lie before each of the `stepCount` equal parts of the key space; one more closes the last. */
  readonly steps: readonly number[]
  /** The same for the index by id, where there is one. */
  readonly idSteps?: readonly number[]
}

export interface RowKey {
  /** 32 hex digits. */
  readonly id: string
  readonly group: number
  readonly row: number
  readonly weight: number
  readonly tag?: number
}

/** A piece of a row: text, or where it lies in bytes. */
export type RowPiece = string | { readonly start: number; readonly end: number }

/**
 * Collects rows in memory and writes them as spills of about `spillBytes`. One writer serves batch after batch: memory that
 * is used again costs nothing, new megabytes would be cleared by the system each time.
 */
export class SpillWriter {
  #prefix: string
  #spills: Spill[] = []
  #rows: Buffer
  #used = 0
  #entries: Buffer
  #count = 0

  constructor(
    readonly folder: string,
    /** Spills are called `<prefix>-<n>`. */
    prefix: string,
    readonly seed: string,
    readonly spillBytes: number,
    /** Also write an index by id, for duplicates that the order does not put side by side. */
    readonly isIndexedById = false,
  ) {
    this.#prefix = prefix
    this.#rows = Buffer.allocUnsafeSlow(spillBytes)
    this.#entries = Buffer.allocUnsafeSlow(4096 * entryBytes)
  }

  /** Starts another batch. What the one before left unfinished is forgotten. */
  begin(prefix: string): void {
    this.#prefix = prefix
    this.#spills = []
    this.#used = 0
    this.#count = 0
  }

  /** Adds a row; its fate (see `fateOf`) may be given when the caller knows it already. */
  add(key: RowKey, text: string, fate = fateOf(this.seed, key.id)): void {
    this.#makeRoom(text.length * 3)
    const length = this.#rows.write(text, this.#used, 'utf8')
    this.#addEntry(key, length, fate)
  }

  /** Room for a row of at most so many bytes, which the caller writes to `rows` from `at` on; `commit` adds it. */
  reserve(bytes: number): { rows: Buffer; at: number } {
    this.#makeRoom(bytes)
    return { rows: this.#rows, at: this.#used }
  }

  /** Adds the row that was written after `reserve`. */
  commit(key: RowKey, length: number, fate: string): void {
    this.#addEntry(key, length, fate)
  }

  /** Adds a row that is put together of texts and of spans of bytes that are there already. */
  addPieces(key: RowKey, bytes: Uint8Array, pieces: readonly RowPiece[], fate: string): void {
    let most = 0
    for (const piece of pieces) most += typeof piece === 'string' ? piece.length * 3 : piece.end - piece.start
    this.#makeRoom(most)
    let to = this.#used
    for (const piece of pieces) {
      if (typeof piece === 'string') to += this.#rows.write(piece, to, 'utf8')
      else {
        this.#rows.set(bytes.subarray(piece.start, piece.end), to)
        to += piece.end - piece.start
      }
    }
    this.#addEntry(key, to - this.#used, fate)
  }

  /** The row that was added last; valid until the next one. */
  get lastRow(): Buffer {
    const at = (this.#count - 1) * entryBytes
    const start = this.#entries.readUInt32BE(at + entryAt.offset)
    return this.#rows.subarray(start, start + this.#entries.readUInt32BE(at + entryAt.length))
  }

  /** Writes what is left. */
  finish(): readonly Spill[] {
    if (this.#count > 0) this.#write()
    return this.#spills
  }

  #makeRoom(bytes: number): void {
    if (this.#used + bytes <= this.#rows.length) return
    if (this.#count > 0) this.#write()
    if (bytes > this.#rows.length) this.#rows = Buffer.allocUnsafeSlow(bytes)
  }

  #addEntry({ id, group, row, weight, tag = 0 }: RowKey, length: number, fate: string): void {
    if ((this.#count + 1) * entryBytes > this.#entries.length) this.#growEntries()
    const at = this.#count * entryBytes
    const entries = this.#entries
    entries.write(fate, at + entryAt.order, 16, 'hex')
    entries.write(id, at + entryAt.id, 16, 'hex')
    entries.writeUInt32BE(group, at + entryAt.group)
    entries.writeUInt32BE(row, at + entryAt.row)
    entries.writeUInt32BE(this.#used, at + entryAt.offset)
    entries.writeUInt32BE(length, at + entryAt.length)
    entries.writeUInt32BE(weight, at + entryAt.weight)
    entries.writeUInt32BE(tag, at + entryAt.tag)
    this.#used += length
    this.#count++
  }

  #growEntries(): void {
    const larger = Buffer.allocUnsafeSlow(this.#entries.length * 2)
    this.#entries.copy(larger)
    this.#entries = larger
  }

  #write(): void {
    const name = `${this.#prefix}-${this.#spills.length}`
    const entries = this.#entries.subarray(0, this.#count * entryBytes)
    const positions = positionsByStep(entries)
    const sortedEntries = Buffer.allocUnsafeSlow(entries.length)
    const output = new StagedFile(join(this.folder, `${name}.rows`))
    let offset = 0
    positions.forEach((position, n) => {
      const at = position * entryBytes
      const start = entries.readUInt32BE(at + entryAt.offset)
      const length = entries.readUInt32BE(at + entryAt.length)
      output.write(this.#rows.subarray(start, start + length))
      entries.copy(sortedEntries, n * entryBytes, at, at + entryBytes)
      sortedEntries.writeUInt32BE(offset, n * entryBytes + entryAt.offset)
      offset += length
    })
    output.close()
    const steps = stepsOf(positions.length, (n) => stepAt(sortedEntries, n * entryBytes))
    writeFileSync(join(this.folder, `${name}.index`), sortedEntries)
    const idSteps = this.isIndexedById ? writeIdIndex(this.folder, name, sortedEntries) : undefined
    this.#spills.push({ name, rows: this.#count, bytes: this.#used, steps, ...(idSteps && { idSteps }) })
    this.#used = 0
    this.#count = 0
  }
}
