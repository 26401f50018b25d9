import type { MergeCounts, RowCounts } from '../../domain/dataset.ts'
import type { Sample } from '../../domain/sample.ts'
import type { DatasetOptions } from '../../domain/spec.ts'
import { RowRejected } from '../../formats/row-rejected.ts'
import { type GatheredRows, gatherRows } from '../../shuffle/gather-rows.ts'
import { type OrderedRange, orderRange } from '../../shuffle/order-rows.ts'
import { type Spill, SpillWriter } from '../../shuffle/spill-writer.ts'
import { stepCount } from '../../shuffle/steps.ts'
import { type DataFile, forEachRow, readBlocks } from './data-file.ts'
import { factsOfOld, rowOfSample } from './dataset-row.ts'
import { CountsDisagree, DatasetDamaged } from './errors.ts'
import type { MergeSizes } from './sizes.ts'

export interface MergeInputs {
  old: readonly DataFile[]
  new: readonly (DataFile & { run: string })[]
  options: Pick<DatasetOptions, 'duplicates' | 'truncated' | 'seed'>
}

export interface MergeIo {
  /** Local folder for what does not fit into memory. */
  folder: string
  sizes: MergeSizes
  signal?: AbortSignal
  onProgress(progress: MergeProgress): void
}

export interface MergeProgress {
  phase: 'reading' | 'ordering' | 'writing'
  rows: number
}

/** Rows in their final order, not yet written. */
export interface ShuffledRows {
  counts: MergeCounts
  /** Of the rows that stay. */
  bytes: number
  /** The rows, a slice at a time. */
  slices(): AsyncIterable<GatheredRows>
}

type Side = 'old' | 'new'

/** Reads old and new rows, drops duplicates and puts the rest into one seeded order. Throws `CountsDisagree`. */
export async function shuffleRows(inputs: MergeInputs, io: MergeIo): Promise<ShuffledRows> {
  const groups = new Groups(inputs.options.duplicates === 'keepNew' ? 'new' : 'old')
  const spills = new SpillWriter(io.folder, 'rows', inputs.options.seed, io.sizes.spillBytes)
  const reasons: Record<string, number> = {}
  for (const file of inputs.old) await readOld(file, groups, spills, io)
  for (const file of inputs.new) await readNew(file, inputs.options, { groups, spills, reasons }, io)
  const written = spills.finish()
  const ranges = orderAll(written, inputs.options.duplicates !== 'keepBoth', io)
  const counts = groups.account(ranges, reasons)
  const bytes = ranges.reduce((sum, range) => sum + range.slices.reduce((all, slice) => all + slice.bytes, 0), 0)
  return { counts, bytes, slices: () => gatherAll(written, ranges, io) }
}

async function readOld(file: DataFile, groups: Groups, spills: SpillWriter, io: MergeIo): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const block of readBlocks(file, io.sizes, { signal: io.signal })) {
    forEachRow(block, (line, row) => {
      try {
        const text = decoder.decode(line)
        const { id, source } = factsOfOld(text)
        spills.add({ id, ...groups.place('old', source), weight: 0 }, `${text}\n`)
      } catch (error) {
        const isBroken = error instanceof RowRejected || error instanceof TypeError
        if (!isBroken) throw error
        throw new DatasetDamaged(`${file.store.uri}/${file.key}`, `has a broken row ${row}: ${error.message}`)
      }
    })
    io.onProgress({ phase: 'reading', rows: groups.rows })
  }
}

interface Reading {
  groups: Groups
  spills: SpillWriter
  reasons: Record<string, number>
}

async function readNew(
  file: DataFile & { run: string },
  options: MergeInputs['options'],
  { groups, spills, reasons }: Reading,
  io: MergeIo,
): Promise<void> {
  for await (const block of readBlocks(file, io.sizes, { signal: io.signal })) {
    forEachRow(block, (line) => {
      const sample = JSON.parse(Buffer.from(line).toString('utf8')) as Sample
      if (sample.truncated && options.truncated === 'out') {
        groups.drop(sample.source)
        reasons.truncated = (reasons.truncated ?? 0) + 1
        return
      }
      const place = groups.place('new', sample.source)
      spills.add({ id: sample.promptId, ...place, weight: 0 }, `${rowOfSample(sample, file.run)}\n`)
    })
    io.onProgress({ phase: 'reading', rows: groups.rows })
  }
}

function orderAll(spills: readonly Spill[], dedupe: boolean, io: MergeIo): OrderedRange[] {
  const rows = spills.reduce((sum, spill) => sum + spill.rows, 0)
  const count = Math.min(stepCount, Math.max(1, Math.ceil(rows / io.sizes.rangeRows)))
  return Array.from({ length: count }, (_, n) => {
    io.signal?.throwIfAborted()
    io.onProgress({ phase: 'ordering', rows })
    return orderRange({
      folder: io.folder,
      spills,
      fromStep: Math.floor((n * stepCount) / count),
      toStep: Math.floor(((n + 1) * stepCount) / count),
      withoutGroups: [],
      dedupe,
      sliceBytes: io.sizes.sliceBytes,
    })
  })
}

async function* gatherAll(
  spills: readonly Spill[],
  ranges: readonly OrderedRange[],
  io: MergeIo,
): AsyncGenerator<GatheredRows> {
  let rows = 0
  for (const { name, slices } of ranges) {
    let firstPlace = 0
    for (const { places } of slices) {
      io.signal?.throwIfAborted()
      yield gatherRows({ folder: io.folder, spills, range: name, firstPlace, places, limits: new Map() })
      firstPlace += places
      rows += places
      io.onProgress({ phase: 'writing', rows })
    }
  }
}

/**
 * Rows by side and source, as the shuffle knows them: by a group number. Of rows with the same id the one of the lower
 * group stays, so the side that is to win has the lower numbers.
 */
class Groups {
  readonly #numbers = new Map<string, number>()
  readonly #counts: Record<string, RowCounts> = {}
  rows = 0

  constructor(private readonly winner: Side) {}

  /** Counts a row, and gives its place for the shuffle. */
  place(side: Side, source: string): { group: number; row: number } {
    this.#countOf(source)[side] += 1
    const name = `${side} ${source}`
    const rank = side === this.winner ? 0 : 0x8000_0000
    const group = this.#numbers.get(name) ?? rank + this.#numbers.size
    this.#numbers.set(name, group)
    return { group, row: this.rows++ }
  }

  /** Counts a new row that is left out. */
  drop(source: string): void {
    const counts = this.#countOf(source)
    counts.new += 1
    counts.dropped += 1
  }

  account(ranges: readonly OrderedRange[], reasons: Record<string, number>): MergeCounts {
    for (const [name, group] of this.#numbers) {
      const counts = this.#countOf(name.slice(4))
      for (const range of ranges) {
        counts.merged += range.kept[group] ?? 0
        counts.duplicates += range.duplicates[group] ?? 0
      }
    }
    const total = newCounts()
    for (const [source, counts] of Object.entries(this.#counts)) {
      if (!addsUp(counts)) throw new CountsDisagree(`source ${source}`, counts)
      for (const key of Object.keys(total) as (keyof RowCounts)[]) total[key] += counts[key]
    }
    return { ...total, sources: this.#counts, reasons }
  }

  #countOf(source: string): RowCounts {
    const counts = this.#counts[source] ?? newCounts()
    this.#counts[source] = counts
    return counts
  }
}

function newCounts(): RowCounts {
  return { old: 0, new: 0, duplicates: 0, dropped: 0, merged: 0 }
}

function addsUp(counts: RowCounts): boolean {
  return counts.old + counts.new === counts.duplicates + counts.dropped + counts.merged
}
