import { MergeAccounts } from '../../../domain/merge-accounts.ts'
import { drawRows } from '../../../domain/merge-draw.ts'
import { mergeSketch, newSketch, type TypeSketch } from '../../../domain/type-sketch.ts'
import type { SourceFile } from '../../../formats/places/source-file.ts'
import { mapInOrder } from '../../../shuffle/map-in-order.ts'
import { stepCount } from '../../../shuffle/steps.ts'
import { DatasetDamaged } from '../errors.ts'
import type { NearBatch } from '../near/near-writer.ts'
import { type DrawContext, findDrawLimits } from './draw-limits.ts'
import { DropMap } from './drop-map.ts'
import { dropWords } from './find-duplicates.ts'
import { mergeBatches } from './merge-batches.ts'
import {
  type Duplicates,
  drawSet,
  type MergeContext,
  type MergeSpill,
  type MergeTasks,
  type OrderedSplit,
  type ReadSide,
  type ScannedBatch,
} from './merge-task-types.ts'
import { SharedBlocks } from './shared-blocks.ts'

export interface ShuffleIo {
  readonly tasks: MergeTasks
  /** Tasks that run at the same time. */
  readonly threads: number
  /** The files of the context, to be read. */
  readonly sources: readonly SourceFile[]
  /** How far reading has got, from 0 to 1. */
  progress(): number
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
  const scanned = await scanAll(context, io, accounts)
  const { spills, sketch } = scanned
  io.onPhase('ordering')
  const drops = await dropDuplicates(scanned, context, io, accounts)
  const limits = drawAll(spills, { ...context, drops }, accounts)
  const ranges = await orderAll(spills, limits, context, io)
  return { spills, ranges, accounts, sketch }
}

interface ScannedFiles {
  readonly spills: readonly MergeSpill[]
  /** With `near`: what the batches left for the search for near duplicates. */
  readonly near: readonly { readonly batch: NearBatch; readonly sources: readonly number[] }[]
  readonly sketch: TypeSketch
}

async function scanAll(context: MergeContext, io: ShuffleIo, accounts: MergeAccounts): Promise<ScannedFiles> {
  const sketch = newSketch()
  const blocks = new SharedBlocks(context.sizes.blockBytes)
  const options = { sizes: context.sizes, allocate: blocks.allocate, progress: io.progress }
  const batches = mergeBatches(io.sources, options)
  const scanned = mapInOrder(batches, io.threads + 1, async (batch) => {
    const result = await io.tasks.scan(batch)
    for (const { piece } of batch.pieces) if (piece.kind === 'json') blocks.give(piece.bytes)
    return result
  })
  for await (const batch of scanned) {
    io.signal?.throwIfAborted()
    if (batch.bad) throw damaged(batch.bad, io.sources)
    book(batch, accounts)
    mergeSketch(sketch, batch.sketch)
  }
  const flushed = (await io.tasks.flush()).map(({ sources, ...rows }) => ({
    ...rows,
    sources: sources.map((name) => accounts.numberOf(name)),
  }))
  const spills = flushed.flatMap((thread) => thread.spills.map((spill) => ({ ...spill, sources: thread.sources })))
  const near = flushed.flatMap(({ near: batches, sources }) => batches.map((batch) => ({ batch, sources })))
  return { spills, near, sketch }
}

function damaged({ file, row, problem }: NonNullable<ScannedBatch['bad']>, sources: readonly SourceFile[]) {
  const uri = sources[file]?.uri ?? ''
  return new DatasetDamaged(uri, row === 0 ? `can not be read: ${problem}` : `can not be merged: row ${row} ${problem}`)
}

function book({ sources, read, dropped }: ScannedBatch, accounts: MergeAccounts): void {
  const numbers = sources.map((name) => accounts.numberOf(name))
  const at = (local: number) => numbers[local] ?? 0
  for (const side of ['old', 'new', 'heldOut'] as const satisfies readonly ReadSide[]) {
    for (const [local, rows] of read[side].entries()) accounts.addRead(side, at(local), rows)
  }
  for (const [reason, counts] of Object.entries(dropped)) {
    for (const [local, rows] of counts.entries()) accounts.addDropped('new', at(local), reason, rows)
  }
}

/** Parts of the key space with at most about `rangeRows` rows each. */
function partsOf(rows: number, rangeRows: number): { fromStep: number; toStep: number }[] {
  const count = Math.min(stepCount, Math.max(1, Math.ceil(rows / rangeRows)))
  return Array.from({ length: count }, (_, n) => ({
    fromStep: Math.floor((n * stepCount) / count),
    toStep: Math.floor(((n + 1) * stepCount) / count),
  }))
}

/** Marks the rows that give way to another one with the same conversation, or with nearly the same. */
async function dropDuplicates(
  { spills, near }: ScannedFiles,
  { files, sizes, folder }: MergeContext,
  { tasks, threads, signal }: ShuffleIo,
  accounts: MergeAccounts,
): Promise<DropMap> {
  const map = new DropMap(files.length)
  const take = ({ drops }: Duplicates, sourcesOf: readonly { readonly sources: readonly number[] }[]) => {
    signal?.throwIfAborted()
    for (let at = 0; at < drops.length; at += dropWords) {
      const [file = 0, row = 0, tag = 0, from = 0, isNew = 0] = drops.subarray(at, at + dropWords)
      if (map.add(file, row)) accounts.addDuplicate(isNew ? 'new' : 'old', sourcesOf[from]?.sources[tag] ?? 0)
    }
  }
  const parts = partsOf(rowsOf(spills), sizes.rangeRows)
  const same = mapInOrder(parts, threads, (part) => tasks.findDuplicates({ spills, ...part }))
  for await (const duplicates of same) take(duplicates, spills)
  const bands = near.reduce((sum, { batch }) => sum + (batch.steps.at(-1) ?? 0), 0)
  const batches = near.map(({ batch }) => batch)
  const nearParts = bands > 0 ? partsOf(bands, sizes.rangeRows) : []
  const alike = mapInOrder(nearParts, threads, (part) => tasks.findNear({ batches, ...part }))
  for await (const duplicates of alike) take(duplicates, near)
  map.write(folder)
  return map
}

/** Decides how many rows of each source stay, and finds the draw keys up to which they do. */
function drawAll(
  spills: readonly MergeSpill[],
  context: MergeContext & DrawContext,
  accounts: MergeAccounts,
): Map<number, bigint> {
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
  { sizes }: MergeContext,
  { tasks, threads, signal }: ShuffleIo,
): Promise<OrderedSplit[]> {
  const parts = partsOf(rowsOf(spills), sizes.rangeRows)
  const named = parts.map((part, n) => ({ ...part, spills, limits, name: `order-${String(n).padStart(6, '0')}` }))
  const ranges: OrderedSplit[] = []
  for await (const splits of mapInOrder(named, threads, (part) => tasks.order(part))) {
    signal?.throwIfAborted()
    ranges.push(...splits.filter(({ places }) => places > 0))
  }
  return ranges.sort((a, b) => a.split - b.split)
}

function rowsOf(spills: readonly MergeSpill[]): number {
  return spills.reduce((sum, spill) => sum + spill.rows, 0)
}
