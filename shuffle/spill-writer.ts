import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fateOf } from './digest.ts'
import { entryAt, entryBytes, sortedPositions } from './entry.ts'

/** Rows of one batch on disk, sorted by order key: `<name>.rows` holds their bytes, `<name>.index` their entries. */
export interface Spill {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  /** How many entries lie before each of the `stepCount` equal parts of the key space; one more closes the last. */
  readonly steps: readonly number[]
}

/** Parts of the key space that a spill's entries can be addressed by. */
export const stepCount = 1024

export interface RowKey {
  /** 32 hex digits. */
  readonly id: string
  readonly group: number
  readonly row: number
  readonly weight: number
}

/**
 * Collects rows in memory and writes them as spills of about `spillBytes`. One writer serves batch after batch: memory that
 * is used again costs nothing, new megabytes would be cleared by the system each time.
 */
export class SpillWriter {
  #prefix: string
  #spills: Spill[] = []
  #rows: Buffer
  #sortedRows: Buffer
  #used = 0
  #entries: Buffer
  #count = 0

  constructor(
    readonly folder: string,
    /** Spills are called `<prefix>-<n>`. */
    prefix: string,
    readonly seed: string,
    readonly spillBytes: number,
  ) {
    this.#prefix = prefix
    this.#rows = Buffer.allocUnsafeSlow(spillBytes)
    this.#sortedRows = Buffer.allocUnsafeSlow(spillBytes)
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
  add({ id, group, row, weight }: RowKey, text: string, fate = fateOf(this.seed, id)): void {
    const most = text.length * 3
    if (this.#used + most > this.#rows.length) this.#makeRoom(most)
    const length = this.#rows.write(text, this.#used, 'utf8')
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
    this.#used += length
    this.#count++
  }

  /** Writes what is left. */
  finish(): readonly Spill[] {
    if (this.#count > 0) this.#write()
    return this.#spills
  }

  #makeRoom(bytes: number): void {
    if (this.#count > 0) this.#write()
    if (bytes <= this.#rows.length) return
    this.#rows = Buffer.allocUnsafeSlow(bytes)
    this.#sortedRows = Buffer.allocUnsafeSlow(bytes)
  }

  #growEntries(): void {
    const larger = Buffer.allocUnsafeSlow(this.#entries.length * 2)
    this.#entries.copy(larger)
    this.#entries = larger
  }

  #write(): void {
    const name = `${this.#prefix}-${this.#spills.length}`
    const entries = this.#entries.subarray(0, this.#count * entryBytes)
    const positions = sortedPositions(entries)
    const sortedRows = this.#sortedRows.subarray(0, this.#used)
    const sortedEntries = Buffer.allocUnsafeSlow(entries.length)
    const steps = new Array<number>(stepCount + 1).fill(0)
    let offset = 0
    positions.forEach((position, n) => {
      const at = position * entryBytes
      const start = entries.readUInt32BE(at + entryAt.offset)
      const length = entries.readUInt32BE(at + entryAt.length)
      this.#rows.copy(sortedRows, offset, start, start + length)
      entries.copy(sortedEntries, n * entryBytes, at, at + entryBytes)
      sortedEntries.writeUInt32BE(offset, n * entryBytes + entryAt.offset)
      offset += length
      const step = entries.readUInt16BE(at) >>> 6
      steps[step + 1] = (steps[step + 1] ?? 0) + 1
    })
    for (let step = 1; step <= stepCount; step++) steps[step] = (steps[step] ?? 0) + (steps[step - 1] ?? 0)
    writeFileSync(join(this.folder, `${name}.rows`), sortedRows)
    writeFileSync(join(this.folder, `${name}.index`), sortedEntries)
    this.#spills.push({ name, rows: this.#count, bytes: this.#used, steps })
    this.#used = 0
    this.#count = 0
  }
}
