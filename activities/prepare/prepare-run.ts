import { createHash } from 'node:crypto'
import { drawAmounts } from '../../domain/blend.ts'
import { cutShards, type Plan, type SourceAccount } from '../../domain/plan.ts'
import type { Spec } from '../../domain/spec.ts'
import { drawLimits } from '../../shuffle/draw.ts'
import { mapInOrder } from '../../shuffle/map-in-order.ts'
import type { OrderedRange } from '../../shuffle/order-rows.ts'
import { type Spill, stepCount } from '../../shuffle/spill-writer.ts'
import { Accounts } from './accounts.ts'
import { batches } from './batches.ts'
import type { PrepareTasks } from './prepare-tasks.ts'
import { rejectLines } from './reject-lines.ts'
import type { ScannedBatch } from './scan-batch.ts'
import { ShardAssembler } from './shard-assembler.ts'
import type { PrepareSizes } from './sizes.ts'
import { listSourceFiles, type NumberedFile } from './source-list.ts'

/** Where prompts and rejects go. */
export interface PrepareOutput {
  putRejects(source: string, lines: AsyncIterable<Uint8Array>): Promise<void>
  putShard(shard: number, lines: Uint8Array): Promise<void>
}

export interface PrepareProgress {
  phase: 'listing' | 'reading' | 'ordering' | 'writing'
  /** Bytes of source files read, and of prompts written, of how many. */
  done: number
  total: number
}

export interface PrepareIo {
  readonly folder: string
  readonly sizes: PrepareSizes
  readonly tasks: PrepareTasks
  /** Tasks that run at the same time. */
  readonly threads: number
  readonly output: PrepareOutput
  onProgress(progress: PrepareProgress): void
}

/** The sources gave not a single prompt: nothing to generate, which is never what was meant. */
export class NoPrompts extends Error {
  override readonly name = 'NoPrompts'
  constructor(readonly accounts: readonly SourceAccount[]) {
    super(`The sources give no prompt at all: ${accounts.map(describe).join('; ')}`)
  }
}

function describe({ name, read, rejected, filtered }: SourceAccount): string {
  const reasons = Object.entries({ ...rejected, ...filtered }).map(([reason, rows]) => `${rows} ${reason}`)
  return `${name}: ${read} rows read${reasons.length > 0 ? `, ${reasons.join(', ')}` : ''}`
}

/**
 * Reads the sources and writes prompts in shards. Same spec and sources, same bytes: order, drawing and duplicates are
 * decided by each row's own keys and place, never by which thread was first.
 */
export async function prepareRun(spec: Spec, specHash: string, io: PrepareIo): Promise<Plan> {
  const files = await listSourceFiles(spec)
  const scanned = await scanAll(files, io)
  const accounts = new Accounts(spec, files, scanned)
  const spills = scanned.flatMap((batch) => batch.spills)
  const ranges = await orderAll(spills, io)
  accounts.addOrdered(ranges)
  const amounts = drawAmounts(accounts.supplies(), spec.target)
  accounts.addDrawn(amounts)
  const prompts = amounts.reduce((total, amount) => total + amount, 0)
  if (prompts === 0) throw new NoPrompts(accounts.sources)
  const shardSizes = cutShards({
    prompts,
    shardSize: spec.shardSize,
    engines: spec.engines.length,
    lanes: spec.lanes,
  })
  const idsHash = await writeShards({ spills, ranges, files, accounts, amounts, shardSizes }, io)
  for (const [n, source] of spec.sources.entries()) {
    await io.output.putRejects(
      source.name,
      rejectLines(io.folder, scanned, (file) => files[file]?.source === n),
    )
  }
  return { run: spec.run, specHash, seed: spec.seed, prompts, shardSizes, idsHash, sources: accounts.sources }
}

async function scanAll(files: readonly NumberedFile[], io: PrepareIo): Promise<ScannedBatch[]> {
  const total = files.reduce((sum, file) => sum + file.bytes, 0)
  const scanned: ScannedBatch[] = []
  let done = 0
  const results = mapInOrder(batches(files, io.sizes), io.threads + 1, async (batch) => {
    const bytes = batch.pieces.reduce((sum, piece) => sum + piece.bytes.length, 0)
    const result = await io.tasks.scan(batch)
    done += bytes
    io.onProgress({ phase: 'reading', done, total })
    return result
  })
  for await (const result of results) scanned.push(result)
  return scanned
}

async function orderAll(spills: readonly Spill[], io: PrepareIo): Promise<OrderedRange[]> {
  const rows = spills.reduce((sum, spill) => sum + spill.rows, 0)
  const count = Math.min(stepCount, Math.max(1, Math.ceil(rows / io.sizes.rangeRows)))
  const parts = Array.from({ length: count }, (_, n) => ({
    fromStep: Math.floor((n * stepCount) / count),
    toStep: Math.floor(((n + 1) * stepCount) / count),
  }))
  const ranges: OrderedRange[] = []
  const results = mapInOrder(parts, io.threads, (part) => io.tasks.order({ ...part, spills, withoutGroups: [] }))
  for await (const range of results) {
    ranges.push(range)
    io.onProgress({ phase: 'ordering', done: ranges.length, total: count })
  }
  return ranges
}

interface Ordered {
  spills: readonly Spill[]
  ranges: readonly OrderedRange[]
  files: readonly NumberedFile[]
  accounts: Accounts
  amounts: readonly number[]
  shardSizes: readonly number[]
}

/** Gathers the drawn prompts in their final order and cuts them into shards. Gives the hash over all ids. */
async function writeShards(ordered: Ordered, io: PrepareIo): Promise<string> {
  const { spills, ranges, files, accounts, amounts, shardSizes } = ordered
  const sourceOf = (file: number) => files[file]?.source ?? -1
  const partial = new Map(
    amounts.flatMap((amount, n) => (amount < accounts.available(n) ? [[n, amount] as const] : [])),
  )
  const limitOfSource = partial.size > 0 ? drawLimits(io.folder, ranges, sourceOf, partial) : new Map()
  const limits = new Map(
    files.flatMap(({ number, source }) =>
      limitOfSource.has(source) ? [[number, limitOfSource.get(source) as bigint] as const] : [],
    ),
  )
  const names = spills.map(({ name }) => ({ name }))
  const slices = ranges.flatMap((range) => {
    let firstPlace = 0
    return range.slices.map(({ places }) => {
      const slice = { range: range.name, firstPlace, places }
      firstPlace += places
      return slice
    })
  })
  const ids = createHash('sha256')
  const shards = new ShardAssembler(shardSizes, (shard, lines) => io.output.putShard(shard, lines))
  let done = 0
  for await (const rows of mapInOrder(slices, io.threads + 1, (slice) =>
    io.tasks.gather({ ...slice, spills: names, limits }),
  )) {
    await shards.add(rows.bytes, rows.lengths)
    hashIds(ids, rows)
    io.onProgress({ phase: 'writing', done: ++done, total: slices.length })
  }
  await shards.finish()
  return ids.digest('hex')
}

/** The id stands at the same place in every line. */
function hashIds(hash: ReturnType<typeof createHash>, { bytes, lengths }: { bytes: Uint8Array; lengths: Uint32Array }) {
  const ids = Buffer.allocUnsafe(lengths.length * 33)
  let at = 0
  lengths.forEach((length, n) => {
    ids.set(bytes.subarray(at + idStart, at + idStart + 32), n * 33)
    ids[n * 33 + 32] = 10
    at += length
  })
  hash.update(ids)
}

const idStart = '{"promptId":"'.length
