import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bands, bandKey, bandsFor, sketchLength, sketchOf, textSalt } from '../../../domain/min-hash.ts'
import type { Message } from '../../../domain/prompt.ts'
import { stepCount, stepsOf } from '../../../shuffle/steps.ts'

/** A row's record in `<batch>.near`: group, row, tag (u32 each), then its sketch. */
export const nearRecordBytes = 12 + 4 * sketchLength
export const nearRecordAt = { group: 0, row: 4, tag: 8, sketch: 12 } as const

/** An entry in `<batch>.bands`, sorted by key: key (8 bytes, a number), group, row, record (u32 each). */
export const bandEntryBytes = 20
export const bandEntryAt = { key: 0, group: 8, row: 12, record: 16 } as const

/** Rows that were written for the search for near duplicates. */
export interface NearBatch {
  readonly name: string
  readonly steps: readonly number[]
}

const keySpace = 2 ** 53

/** Rows of a batch: half a kilobyte each, and some bands. */
const batchRecords = 20_000

/** Collects the sketches of rows, and their bands, and writes them batch by batch. */
export class NearWriter {
  readonly #bands: Bands
  #records: Buffer[] = []
  #entries: { key: number; group: number; row: number; record: number }[] = []

  readonly #batches: NearBatch[] = []

  /** @param prefix names the batches: `<prefix>-<n>`. */
  constructor(
    readonly folder: string,
    readonly prefix: string,
    threshold: number,
  ) {
    this.#bands = bandsFor(threshold)
  }

  /** Adds a row by its conversation skeleton. Only rows with the same system prompt are held against each other. */
  add(skeleton: readonly Message[], place: { group: number; row: number; tag: number }): void {
    const asked = skeleton.filter(({ role }) => role !== 'system').map(({ content }) => content)
    if (asked.length === 0) return
    const system = skeleton.filter(({ role }) => role === 'system').map(({ content }) => content)
    const sketch = sketchOf(asked.join('\n'))
    const record = this.#records.length
    this.#records.push(recordOf(sketch, place))
    const salt = textSalt(system.join('\n'))
    for (let band = 0; band < this.#bands.count; band++) {
      const key = bandKey(sketch, band, this.#bands, salt)
      this.#entries.push({ key, group: place.group, row: place.row, record })
    }
    if (this.#records.length >= batchRecords) this.#write()
  }

  /** Writes what is left; gives all batches. */
  finish(): readonly NearBatch[] {
    if (this.#records.length > 0) this.#write()
    return this.#batches
  }

  #write(): void {
    const name = `${this.prefix}-${this.#batches.length}`
    const entries = this.#entries.sort((a, b) => a.key - b.key || a.group - b.group || a.row - b.row)
    const bytes = Buffer.allocUnsafe(entries.length * bandEntryBytes)
    entries.forEach(({ key, group, row, record }, n) => {
      const at = n * bandEntryBytes
      bytes.writeDoubleBE(key, at + bandEntryAt.key)
      bytes.writeUInt32BE(group, at + bandEntryAt.group)
      bytes.writeUInt32BE(row, at + bandEntryAt.row)
      bytes.writeUInt32BE(record, at + bandEntryAt.record)
    })
    const steps = stepsOf(entries.length, (n) => Math.floor(((entries[n]?.key ?? 0) / keySpace) * stepCount))
    writeFileSync(join(this.folder, `${name}.near`), Buffer.concat(this.#records))
    writeFileSync(join(this.folder, `${name}.bands`), bytes)
    this.#records = []
    this.#entries = []
    this.#batches.push({ name, steps })
  }
}

function recordOf(sketch: Uint32Array, { group, row, tag }: { group: number; row: number; tag: number }): Buffer {
  const record = Buffer.allocUnsafe(nearRecordBytes)
  record.writeUInt32BE(group, nearRecordAt.group)
  record.writeUInt32BE(row, nearRecordAt.row)
  record.writeUInt32BE(tag, nearRecordAt.tag)
  for (let n = 0; n < sketchLength; n++) record.writeUInt32BE(sketch[n] ?? 0, nearRecordAt.sketch + 4 * n)
  return record
}
