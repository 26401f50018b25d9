import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Column, plainColumn, unifyColumns } from '../../domain/columns.ts'
import { type DatasetManifest, datasetKeys, datasetLayout, type MergeCounts } from '../../domain/dataset.ts'
import { unbalanced } from '../../domain/merge-accounts.ts'
import { outputOf } from '../../domain/output.ts'
import { defaultColumns, defaultShape } from '../../domain/row-shape.ts'
import { trainSplit } from '../../domain/splits.ts'
import { columnsOf } from '../../domain/type-sketch.ts'
import { WriteOnceConflict } from '../../store/errors.ts'
import type { ObjectStore, OpenStore } from '../../store/store.ts'
import { type DataFile, verifiedFile } from './data-file.ts'
import { CountsDisagree, NotADataset } from './errors.ts'
import { writeExtras } from './output/write-extras.ts'
import { writeFiles } from './output/write-files.ts'
import { type MergePlan, mergedRunOf, type ReadRun, readRunManifest } from './plan-merge.ts'
import { isProvenance, provenanceColumns } from './rows/provenance.ts'
import type { MergeContext, MergeFile } from './shuffle/merge-task-types.ts'
import { startMergeThreads } from './shuffle/merge-threads.ts'
import { type ShuffledRows, shuffleRows } from './shuffle/shuffle-rows.ts'
import type { MergeSizes } from './sizes.ts'
import { abandonVersion, claimVersion, findClaim } from './versions/claim.ts'
import { putManifest, type ReadVersion, readVersion, rootOf } from './versions/read-version.ts'

export interface MergeProgress {
  phase: 'reading' | 'ordering' | 'writing'
  /** Bytes read, or rows written, of how many. */
  done: number
  total: number
}

export interface MergeVersionDeps {
  openStore: OpenStore
  scratch: string
  sizes: MergeSizes
  /** CPU cores to use. */
  threads: number
  now: () => number
  signal?: AbortSignal
  onProgress(progress: MergeProgress): void
}

/**
 * Makes the files and the manifest of the next version; nobody reads them before the pointer names them. An attempt that
 * comes after a broken one finds its claim and goes on under the same number. Nothing when the run brings nothing new.
 */
export async function mergeVersion(plan: MergePlan, deps: MergeVersionDeps): Promise<ReadVersion | undefined> {
  const dataset = deps.openStore(plan.options.uri)
  const scratchName = `merge-${plan.mergeId}`
  await removeFolders(deps.scratch, scratchName)
  const earlier = await findClaim(dataset, plan.base?.version ?? 0, plan.mergeId)
  if (earlier && (await dataset.head(datasetKeys.manifest(earlier.version)))) {
    return await readVersion(dataset, earlier.version)
  }
  const folder = await mkdtemp(join(deps.scratch, `${scratchName}-`))
  try {
    return await mergeInto(dataset, folder, plan, deps)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Scratch folders of earlier attempts are removed: their workers are dead, or were taken for dead and must not go on. */
async function removeFolders(scratch: string, name: string): Promise<void> {
  await mkdir(scratch, { recursive: true })
  for (const entry of await readdir(scratch)) {
    if (entry.startsWith(`${name}-`)) await rm(join(scratch, entry), { recursive: true, force: true })
  }
}

async function mergeInto(
  dataset: ObjectStore,
  folder: string,
  plan: MergePlan,
  deps: MergeVersionDeps,
): Promise<ReadVersion | undefined> {
  const { signal, threads, onProgress } = deps
  const base = plan.base && (await readVersion(dataset, plan.base.version, plan.base.manifestHash))
  const run = await readRunManifest(deps.openStore(plan.run.store), plan.run.key, plan.run.manifestHash)
  const inputs = inputsOf(dataset, base, run, deps.openStore)
  const context = contextOf(plan, base, run, inputs, folder, deps.sizes)
  const total = inputs.reduce((sum, { data }) => sum + data.bytes, 0)
  const progress: MergeProgress = { phase: 'reading', done: 0, total }
  const sources = inputs.map(({ data }, n) =>
    verifiedFile(data, {
      spool: join(folder, `file-${n}`),
      signal,
      onBytes: (bytes) => {
        progress.done += bytes
        onProgress({ ...progress })
      },
    }),
  )
  const running = startMergeThreads(context, threads, signal)
  try {
    const io = { tasks: running.tasks, threads, signal }
    const shuffled = await shuffleRows(context, {
      ...io,
      sources,
      progress: () => (total > 0 ? progress.done / total : 1),
      onPhase: (phase) => onProgress({ phase, done: 0, total: phase === 'reading' ? total : 0 }),
    })
    checkInput(shuffled, base, run)
    const { accounts } = shuffled
    const stays = accounts.names.reduce((sum, _, source) => sum + accounts.left('new', source), 0)
    if (stays === 0) return undefined
    return await writeVersion(dataset, shuffled, { context, base, run, plan, io, deps })
  } finally {
    await running.close()
  }
}

interface Input {
  file: MergeFile
  data: DataFile
}

function inputsOf(dataset: ObjectStore, base: ReadVersion | undefined, run: ReadRun, openStore: OpenStore): Input[] {
  const root = base && rootOf(base.manifest, dataset, openStore)
  const isOwn = base?.manifest.hasProvenance ?? false
  const old = (base?.manifest.files ?? []).map(({ key, split, bytes, sha256 }): Input => {
    return { file: { side: 'old', name: key, split, isOwn }, data: { store: root ?? dataset, key, bytes, sha256 } }
  })
  const fresh = run.manifest.sampleObjects.map(({ key, bytes, sha256 }): Input => {
    return {
      file: { side: 'new', name: key, split: trainSplit, isOwn },
      data: { store: run.store, key, bytes, sha256 },
    }
  })
  return [...old, ...fresh]
}

function contextOf(
  { options }: MergePlan,
  base: ReadVersion | undefined,
  run: ReadRun,
  inputs: readonly Input[],
  folder: string,
  sizes: MergeSizes,
): MergeContext {
  const { manifest } = base ?? {}
  const shape = manifest ? manifest.shape : defaultShape
  if (!shape) {
    const names = manifest?.columns.map(({ name }) => name).join(', ')
    throw new NotADataset(
      options.uri,
      `has no column that could hold a question and its answer (there are: ${names}); name them with \`mapping\``,
    )
  }
  const columns = manifest?.columns ?? []
  const hasOwnColumns = columns.some(({ name }) => isProvenance(name))
  const splits = [
    trainSplit,
    ...inputs.map(({ file }) => file.split),
    ...(options.holdout ? [options.holdout.split] : []),
  ]
  return {
    folder,
    sizes,
    options,
    files: inputs.map(({ file }) => file),
    baseVersion: manifest?.version ?? 0,
    run: run.manifest.run,
    shape,
    columns,
    hasProvenance: manifest?.hasProvenance || (options.provenance === 'columns' && !hasOwnColumns),
    splits: [...new Set(splits)],
    output: outputOf(options, manifest),
  }
}

/** What was read is what the records said there was. */
function checkInput({ accounts }: ShuffledRows, base: ReadVersion | undefined, run: ReadRun): void {
  const { total } = accounts
  const oldRows = base?.manifest.rows ?? 0
  if (total.old !== oldRows) throw new CountsDisagree(`version ${base?.manifest.version} (${oldRows} rows)`, total)
  if (total.new !== run.manifest.samples) {
    throw new CountsDisagree(`run ${run.manifest.run} (${run.manifest.samples} samples)`, total)
  }
}

interface Writing {
  context: MergeContext
  base: ReadVersion | undefined
  run: ReadRun
  plan: MergePlan
  io: { tasks: Parameters<typeof writeFiles>[3]['tasks']; threads: number; signal?: AbortSignal }
  deps: MergeVersionDeps
}

async function writeVersion(
  dataset: ObjectStore,
  shuffled: ShuffledRows,
  { context, base, run, plan, io, deps }: Writing,
): Promise<ReadVersion> {
  const { version, claimedAt } = await claimVersion(dataset, context.baseVersion, plan.mergeId, deps.now)
  const columns = columnsAfter(base, shuffled, context)
  const all = allColumns(columns, context)
  const rows = shuffled.ranges.reduce((sum, { places }) => sum + places, 0)
  let written = 0
  const onRows = (more: number) => {
    written += more
    deps.onProgress({ phase: 'writing', done: written, total: rows })
  }
  const { files, tokens, textBytes } = await writeFiles(context, shuffled, all, {
    ...io,
    store: dataset,
    version,
    onRows,
  }).catch(async (error: unknown) => {
    // Another release, or another compression library, wrote other bytes here: they are left as they are.
    if (error instanceof WriteOnceConflict) await abandonVersion(dataset, version, error.message)
    throw error
  })
  const counts = closeAccounts(shuffled, files)
  const { uri: _, backup: __, ...options } = plan.options
  const manifest: DatasetManifest = {
    layout: datasetLayout,
    version,
    ...(base && { parent: { version: base.manifest.version, manifestHash: base.manifestHash } }),
    mergeId: plan.mergeId,
    createdAt: claimedAt,
    ...context.output,
    rows: counts.merged,
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    tokens,
    files,
    extras: [],
    shape: context.shape,
    columns,
    hasProvenance: context.hasProvenance,
    sources: Object.fromEntries(Object.entries(counts.sources).map(([name, { merged }]) => [name, merged])),
    counts,
    options,
    runs: [...(base?.manifest.runs ?? []), mergedRunOf(run, version)],
  }
  const extras = await writeExtras(dataset, manifest, { columns: all, textBytes, signal: deps.signal })
  return await putManifest(dataset, { ...manifest, extras })
}

/** The columns of the rows, without those that say where they come from. */
function columnsAfter(
  base: ReadVersion | undefined,
  { sketch }: ShuffledRows,
  { hasProvenance, output }: MergeContext,
): Column[] {
  const seen = columnsOf(sketch).filter(({ name }) => !hasProvenance || !isProvenance(name))
  const before = base?.manifest.columns ?? defaultColumns
  return unifyColumns(output.format === 'jsonl' ? before.map(plainColumn) : before, seen)
}

function allColumns(columns: readonly Column[], { hasProvenance }: MergeContext): Column[] {
  return hasProvenance ? [...columns, ...provenanceColumns] : [...columns]
}

function closeAccounts({ accounts }: ShuffledRows, files: DatasetManifest['files']): MergeCounts {
  const counts = accounts.close()
  const wrong = unbalanced(counts)
  if (wrong) throw new CountsDisagree(wrong.what, wrong.counts)
  if (files.reduce((sum, file) => sum + file.rows, 0) !== counts.merged) throw new CountsDisagree('the files', counts)
  return counts
}
