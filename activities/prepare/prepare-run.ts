import { drawAmounts } from '../../domain/blend.ts'
import { cutShards, type Plan, type SourceAccount } from '../../domain/plan.ts'
import type { Spec } from '../../domain/spec.ts'
import type { SourceFile } from '../../formats/places/source-file.ts'
import { mapInOrder } from '../../shuffle/map-in-order.ts'
import type { OrderedRange } from '../../shuffle/ordered-range.ts'
import { stepCount } from '../../shuffle/steps.ts'
import { Accounts } from './accounts.ts'
import { listedLines } from './listed-lines.ts'
import { dropNearDuplicates } from './near-duplicates/drop-near-duplicates.ts'
import type { ProgressMeter } from './prepare-progress.ts'
import type { PrepareTasks } from './prepare-tasks.ts'
import { type ScannedSources, scanSources } from './scan-sources.ts'
import type { PrepareSizes } from './sizes.ts'
import { listSourceFiles, type NumberedFile } from './source-list.ts'
import { writeShards } from './write-shards.ts'

/** Where prompts and rejects go. */
export interface PrepareOutput {
  putRejects(source: string, lines: AsyncIterable<Uint8Array>): Promise<void>
  putContaminated(source: string, lines: AsyncIterable<Uint8Array>): Promise<void>
  putShard(shard: number, lines: Uint8Array): Promise<void>
}

export interface PrepareIo {
  /** Scratch folder of this run alone; what is left in it lets a later attempt go on. */
  readonly folder: string
  readonly sizes: PrepareSizes
  readonly tasks: PrepareTasks
  /** Tells whether an earlier scan was checked against the same evaluation data. */
  readonly contaminationKey?: string
  /** Tasks that run at the same time. */
  readonly threads: number
  readonly filesOf: (uri: string) => Promise<SourceFile[]>
  readonly output: PrepareOutput
  readonly meter: ProgressMeter
  readonly signal: AbortSignal
}

/** The sources gave not a single prompt: nothing to generate, which is never what was meant. */
export class NoPrompts extends Error {
  override readonly name = 'NoPrompts'
  constructor(readonly accounts: readonly SourceAccount[]) {
    super(`The sources give no prompt at all: ${accounts.map(describe).join('; ')}`)
  }
}

function describe({ name, read, rejected, filtered, skippedFiles }: SourceAccount): string {
  const reasons = Object.entries({ ...rejected, ...filtered }).map(([reason, rows]) => `${rows} ${reason}`)
  const skipped = skippedFiles.length > 0 ? [`${skippedFiles.length} files could not be read`] : []
  return `${name}: ${[`${read} rows read`, ...reasons, ...skipped].join(', ')}`
}

/**
 * Reads the sources and writes prompts in shards. Same spec and sources, same bytes: order, drawing and duplicates are
 * decided by each row's own keys and place, never by which thread was first.
 */
export async function prepareRun(spec: Spec, specHash: string, io: PrepareIo): Promise<Plan> {
  io.meter.begin('listing', spec.sources.length)
  const files = await listSourceFiles(spec, io.filesOf)
  const scanned = await scanSources(spec, files, io)
  const accounts = new Accounts(spec, files, scanned)
  const ranges = await distinctPrompts(spec, scanned, accounts, io)
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
  const idsHash = await writeShards({ scanned, ranges, files, accounts, amounts, shardSizes }, io)
  await writeLists(spec, files, scanned, io)
  return { run: spec.run, specHash, seed: spec.seed, prompts, shardSizes, idsHash, sources: accounts.sources }
}

/** All prompts in their final order, without duplicates and, where the spec says so, without near ones. */
async function distinctPrompts(
  spec: Spec,
  scanned: ScannedSources,
  accounts: Accounts,
  io: PrepareIo,
): Promise<readonly OrderedRange[]> {
  const exact = await orderAll(scanned, io)
  if (!spec.nearDuplicates) {
    accounts.addOrdered(exact, exact)
    return exact
  }
  const spills = scanned.batches.flatMap((batch) => batch.spills)
  const distinct = await dropNearDuplicates(spec.nearDuplicates, spills, exact, io)
  accounts.addOrdered(exact, distinct)
  return distinct
}

/** Puts all spilled rows into their final order, part by part of the key space. */
async function orderAll({ batches, givenUp }: ScannedSources, io: PrepareIo): Promise<OrderedRange[]> {
  const spills = batches.flatMap((batch) => batch.spills)
  const withoutGroups = [...givenUp.keys()]
  const rows = spills.reduce((sum, spill) => sum + spill.rows, 0)
  const count = Math.min(stepCount, Math.max(1, Math.ceil(rows / io.sizes.rangeRows)))
  const parts = Array.from({ length: count }, (_, n) => ({
    fromStep: Math.floor((n * stepCount) / count),
    toStep: Math.floor(((n + 1) * stepCount) / count),
  }))
  io.meter.begin('ordering', count)
  const ranges: OrderedRange[] = []
  for await (const range of mapInOrder(parts, io.threads, (part) =>
    io.tasks.order({ ...part, spills, withoutGroups }),
  )) {
    io.signal.throwIfAborted()
    ranges.push(range)
    io.meter.advance(1)
  }
  return ranges
}

async function writeLists(
  spec: Spec,
  files: readonly NumberedFile[],
  { batches, givenUp }: ScannedSources,
  { folder, output, signal }: PrepareIo,
): Promise<void> {
  for (const [n, { name }] of spec.sources.entries()) {
    signal.throwIfAborted()
    const isWanted = (file: number) => files[file]?.source === n && !givenUp.has(file)
    await output.putRejects(name, listedLines(folder, 'rejects', batches, isWanted))
    if (spec.decontaminate) {
      await output.putContaminated(name, listedLines(folder, 'contaminated', batches, isWanted))
    }
  }
}
