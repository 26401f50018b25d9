import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MergeAccounts } from '../../../domain/merge-accounts.ts'
import { drawRows } from '../../../domain/merge-draw.ts'
import { mergeSketch, newSketch, type TypeSketch } from '../../../domain/type-sketch.ts'
import type { SourceFile } from '../../../formats/places/source-file.ts'
import { mapInOrder } from '../../../shuffle/map-in-order.ts'
import { stepCount } from '../../../shuffle/steps.ts'
import { DatasetDamaged } from '../errors.ts'
import { findDrawLimits } from './draw-limits.ts'
import { dropWords } from './find-duplicates.ts'
import { mergeBatches } from './merge-batches.ts'
import {
  drawSet,
  type MergeContext,
  type MergeSpill,
  type MergeTasks,
  type OrderedSplit,
  type ReadSide,
  type ScannedBatch,
} from './merge-task-types.ts'

export interface ShuffleIo {
  readonly tasks: MergeTasks
  /** Tasks that run at the same time. */
  readonly threads: number
  /** The files of the context, to be read. */
  readonly sources: readonly SourceFile[]
  readonly signal?: AbortSignal
  onPhase(phase: 'reading' | 'ordering'): void
}

/** All rows that stay, in their final order, not yet written. */
export interface ShuffledRows {
  readonly spills: readonly MergeSpill[]
  /** By split, each in the order of its ranges. */
  readonly ranges: readonly OrderedSplit[]
  readonly accounts: MergeAccounts
  readonly sketch: TypeSketch
}

/** Reads all rows, drops duplicates, draws, and puts what stays into one order. Memory does not grow with the rows. */
export async function shuffleRows(context: MergeContext, io: ShuffleIo): Promise<ShuffledRows> {
  io.onPhase('reading')
  const accounts = new MergeAccounts()
  const { spills: read, sketch } = await scanAll(context, io, accounts)
  io.onPhase('ordering')
  const spills = await dropDuplicates(read, context, io, accounts)
  const limits = drawAll(spills, context, accounts)
  const ranges = await orderAll(spills, limits, context, io)
  return { spills, ranges, accounts, sketch }
}

async function scanAll(context: MergeContext, io: ShuffleIo, accounts: MergeAccounts) {
  const spills: MergeSpill[] = []
  const sketch = newSketch()
  const spare = new SpareBlocks(context.sizes.blockBytes)
  const batches = mergeBatches(io.sources, context.sizes, spare.take)
  const scanned = mapInOrder(batches, io.threads + 1, (batch) => io.tasks.scan(batch))
  for await (const batch of scanned) {
    io.signal?.throwIfAborted()
    if (batch.bad) {
      const uri = io.sources[batch.bad.file]?.uri ?? ''
      const { row, problem } = batch.bad
      throw new DatasetDamaged(
        uri,
        row === 0 ? `can not be read: ${problem}` : `can not be merged: row ${row} ${problem}`,
      )
    }
    spare.give(batch.spent)
    const sources = book(batch, accounts)
    mergeSketch(sketch, batch.sketch)
    for (const spill of batch.spills) spills.push({ ...spill, sources })
  }
  return { spills, sketch }
}

/** Books a batch; gives the numbers of its sources. */
function book({ sources, read, dropped }: ScannedBatch, accounts: MergeAccounts): number[] {
  const numbers = sources.map((name) => accounts.numberOf(name))
  const at = (local: number) => numbers[local] ?? 0
  for (const side of ['old', 'new', 'heldOut'] as const satisfies readonly ReadSide[]) {
    for (const [local, rows] of read[side].entries()) accounts.addRead(side, at(local), rows)
  }
  for (const [reason, counts] of Object.entries(dropped)) {
    for (const [local, rows] of counts.entries()) accounts.addDropped('new', at(local), reason, rows)
  }
  return numbers
}

/** Parts of the key space with at most about `rangeRows` rows each. */
function partsOf(rows: number, rangeRows: number): { fromStep: number; toStep: number }[] {
  const count = Math.min(stepCount, Math.max(1, Math.ceil(rows / rangeRows)))
  return Array.from({ length: count }, (_, n) => ({
    fromStep: Math.floor((n * stepCount) / count),
    toStep: Math.floor(((n + 1) * stepCount) / count),
  }))
}

async function dropDuplicates(
  spills: readonly MergeSpill[],
  { folder, sizes }: MergeContext,
  { tasks, threads, signal }: ShuffleIo,
  accounts: MergeAccounts,
): Promise<MergeSpill[]> {
  const dropped = spills.map((): Uint8Array | undefined => undefined)
  const parts = partsOf(rowsOf(spills), sizes.rangeRows)
  for await (const { drops } of mapInOrder(parts, threads, (part) => tasks.findDuplicates({ spills, ...part }))) {
    signal?.throwIfAborted()
    for (let at = 0; at < drops.length; at += dropWords) {
      const [number = 0, position = 0, tag = 0, isNew = 0] = drops.subarray(at, at + dropWords)
      const spill = spills[number]
      const bits = dropped[number] ?? new Uint8Array(Math.ceil((spill?.rows ?? 0) / 8))
      dropped[number] = bits
      bits[position >>> 3] = (bits[position >>> 3] ?? 0) | (1 << (position & 7))
      accounts.addDuplicate(isNew ? 'new' : 'old', spill?.sources[tag] ?? 0)
    }
  }
  return spills.map((spill, n) => {
    const bits = dropped[n]
    if (!bits) return spill
    writeFileSync(join(folder, `${spill.name}.drop`), bits)
    return { ...spill, hasDrops: true as const }
  })
}

/** Decides how many rows of each source stay, and finds the draw keys up to which they do. */
function drawAll(spills: readonly MergeSpill[], context: MergeContext, accounts: MergeAccounts): Map<number, bigint> {
  const { caps, newShare } = context.options
  if (caps === undefined && newShare === undefined) return new Map()
  const rows = accounts.names.map((_, source) => ({
    old: accounts.left('old', source),
    new: accounts.left('new', source),
  }))
  const { kept, overCap, overShare } = drawRows(accounts.names, rows, {
    ...(caps && { caps }),
    ...(newShare && { newShare }),
  })
  const amounts = new Map<number, number>()
  for (const source of accounts.names.keys()) {
    for (const side of ['old', 'new'] as const) {
      const amount = kept[source]?.[side] ?? 0
      if (amount < (rows[source]?.[side] ?? 0)) amounts.set(drawSet(side, source), amount)
      accounts.addDropped(side, source, 'cap', overCap[source]?.[side] ?? 0)
      accounts.addDropped(side, source, 'share', overShare[source]?.[side] ?? 0)
    }
  }
  return amounts.size > 0 ? findDrawLimits(context, spills, amounts) : new Map()
}

async function orderAll(
  spills: readonly MergeSpill[],
  limits: ReadonlyMap<number, bigint>,
  { options, sizes }: MergeContext,
  { tasks, threads, signal }: ShuffleIo,
): Promise<OrderedSplit[]> {
  const shuffled = partsOf(rowsOf(spills), sizes.rangeRows).map((part) => ({ ...part, spills, firstSpill: 0 }))
  // Appended rows come in the order in which they were read, and so do their spills.
  const parts = options.order === 'shuffle' ? shuffled : runsOfSpills(spills, sizes.rangeRows)
  const named = parts.map((part, n) => ({ ...part, limits, name: `order-${String(n).padStart(6, '0')}` }))
  const ranges: OrderedSplit[] = []
  for await (const splits of mapInOrder(named, threads, (part) => tasks.order(part))) {
    signal?.throwIfAborted()
    ranges.push(...splits.filter(({ places }) => places > 0))
  }
  return ranges.sort((a, b) => a.split - b.split)
}

function runsOfSpills(spills: readonly MergeSpill[], rangeRows: number) {
  const runs: { spills: MergeSpill[]; firstSpill: number; fromStep: number; toStep: number }[] = []
  let rows = 0
  spills.forEach((spill, n) => {
    const open = runs.at(-1)
    if (open && rows + spill.rows <= rangeRows) open.spills.push(spill)
    else {
      runs.push({ spills: [spill], firstSpill: n, fromStep: 0, toStep: stepCount })
      rows = 0
    }
    rows += spill.rows
  })
  return runs
}

function rowsOf(spills: readonly MergeSpill[]): number {
  return spills.reduce((sum, spill) => sum + spill.rows, 0)
}

/** Memory of blocks that were scanned: taking new memory for each would keep the garbage collector busy. */
class SpareBlocks {
  readonly #spare: ArrayBuffer[] = []

  constructor(private readonly blockBytes: number) {}

  readonly take = (bytes: number): Buffer => {
    const block = bytes <= this.blockBytes && bytes > this.blockBytes / 2 ? this.#spare.pop() : undefined
    return block ? Buffer.from(block, 0, bytes) : Buffer.allocUnsafeSlow(bytes)
  }

  give(spent: readonly ArrayBuffer[]): void {
    for (const block of spent) {
      if (block.byteLength === this.blockBytes && this.#spare.length < mostSpare) this.#spare.push(block)
    }
  }
}

const mostSpare = 8
