import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type DatasetFile,
  type DatasetManifest,
  datasetKeys,
  datasetLayout,
  type ExtraFile,
  versionName,
} from '../../../domain/dataset.ts'
import { addSources, type SourceShare, type SourceTokens, type TokenizedManifest } from '../../../domain/tokenized.ts'
import { WriteOnceConflict } from '../../../store/errors.ts'
import { publish } from '../../../store/publish.ts'
import type { ObjectStore, OpenStore } from '../../../store/store.ts'
import { CountsDisagree } from '../../merge/errors.ts'
import { writeExtras } from '../../merge/output/write-extras.ts'
import { abandonVersion, claimVersion, findClaim } from '../../merge/versions/claim.ts'
import { putManifest, type ReadVersion, readVersion } from '../../merge/versions/read-version.ts'
import { GateClosed } from '../errors.ts'
import { findingsOf } from '../gates.ts'
import { type PlanFile, readPlan, type TokenizePlan } from '../plan/plan-file.ts'
import { supervisedTokens } from '../rows/token-row.ts'
import { arrowBytes, outputColumns } from '../tokens/output-columns.ts'
import type { OrderedTokens, ShuffleSizes } from '../tokens/shuffle-tokens.ts'
import { type TokenFormat, writeTokenFiles } from '../tokens/write-token-files.ts'
import { collectRows } from './collect-rows.ts'
import { leftOutLines, type MadeUnit, readUnits } from './read-units.ts'

export interface MakeVersionDeps {
  openStore: OpenStore
  /** Local folder for what does not fit into memory. */
  scratch: string
  sizes: ShuffleSizes
  now: () => number
  signal: AbortSignal
  onProgress(progress: { phase: 'reading' | 'ordering' | 'writing'; rows: number; ofRows: number }): void
}

/**
 * Merges what was tokenized with the current version's rows into the next version; nobody reads it before the pointer names
 * it. Nothing when there is no new row. Throws `GateClosed` and `UnitsMissing`.
 */
export async function makeVersion(plan: TokenizePlan, deps: MakeVersionDeps): Promise<ReadVersion | undefined> {
  const store = deps.openStore(plan.uri)
  const earlier = await findClaim(store, plan.base?.version ?? 0, plan.id)
  if (earlier && (await store.head(datasetKeys.manifest(earlier.version)))) {
    return await readVersion(store, earlier.version)
  }
  const file = await readPlan(store, plan)
  const units = await readUnits(store, file)
  const made: Record<string, SourceTokens> = {}
  for (const { record } of units) addSources(made, record.sources)
  const findings = findingsOf(made, file.options)
  if (findings.length > 0) throw new GateClosed(store.uri, findings)
  const folder = join(deps.scratch, `tokens-${plan.id}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  try {
    const base = plan.base && (await readVersion(store, plan.base.version, plan.base.manifestHash))
    const ordered = await collectRows({ store, plan: file, units, base, folder }, deps)
    if (ordered.counts.new.rows - ordered.droppedNewRows === 0) return undefined
    return await writeVersion(store, { plan, file, units, made, base, ordered }, deps)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Writing {
  plan: TokenizePlan
  file: PlanFile
  units: readonly MadeUnit[]
  made: Record<string, SourceTokens>
  base: ReadVersion | undefined
  ordered: OrderedTokens
}

async function writeVersion(store: ObjectStore, writing: Writing, deps: MakeVersionDeps): Promise<ReadVersion> {
  const { plan, ordered, file } = writing
  const { version, claimedAt } = await claimVersion(store, plan.base?.version ?? 0, plan.id, deps.now)
  try {
    const written = await writeRows(store, version, ordered, file, deps)
    checkWritten(written, ordered)
    const leftOut = await writeLeftOut(store, version, writing.units, deps.signal)
    const manifest = manifestOf(writing, { version, createdAt: claimedAt, written, leftOut })
    const columns = outputColumns(file.options.mask)
    const textBytes = written.files.reduce((sum, { bytes }) => sum + bytes, 0)
    const extras = await writeExtras(store, manifest, { columns, textBytes, signal: deps.signal })
    return await putManifest(store, { ...manifest, extras: [...extras, ...manifest.extras] })
  } catch (error) {
    // Another release wrote other bytes here: they are left as they are.
    if (error instanceof WriteOnceConflict) await abandonVersion(store, version, error.message)
    throw error
  }
}

interface WrittenRows {
  files: DatasetFile[]
  /** The same rows in other formats. */
  others: ExtraFile[]
  sources: Record<string, SourceShare>
}

async function writeRows(
  store: ObjectStore,
  version: number,
  ordered: OrderedTokens,
  { options }: PlanFile,
  { signal, onProgress }: MakeVersionDeps,
): Promise<WrittenRows> {
  const { merged } = ordered.counts
  const formats: TokenFormat[] = ['arrow', ...new Set(options.alsoAs)]
  const sources: Record<string, SourceShare> = {}
  const byFormat = new Map<TokenFormat, DatasetFile[]>()
  for (const [n, format] of formats.entries()) {
    const files = await writeTokenFiles(format, ordered, outputColumns(options.mask), {
      ...{ store, version, signal, fileBytes: options.fileBytes },
      arrowBytes: arrowBytes(merged.tokens, merged.rows, options.mask),
      ...(format === 'arrow' && {
        onRow: ({ source, idCount, spans }) => {
          const share = sources[source] ?? { rows: 0, tokens: 0, supervised: 0 }
          sources[source] = share
          share.rows++
          share.tokens += idCount
          share.supervised += supervisedTokens(spans)
        },
      }),
      onRows: (rows) =>
        onProgress({ phase: 'writing', rows: n * merged.rows + rows, ofRows: formats.length * merged.rows }),
    })
    byFormat.set(format, files)
  }
  const others = formats.slice(1).flatMap((format) => byFormat.get(format) ?? [])
  return {
    files: byFormat.get('arrow') ?? [],
    others: others.map(({ key, bytes, sha256 }) => ({ key, bytes, sha256 })),
    sources,
  }
}

/** What was written is what was put into order, row by row and token by token. */
function checkWritten({ files, sources }: WrittenRows, { counts }: OrderedTokens): void {
  const rows = files.reduce((sum, file) => sum + file.rows, 0)
  const tokens = Object.values(sources).reduce((sum, source) => sum + source.tokens, 0)
  if (rows === counts.merged.rows && tokens === counts.merged.tokens) return
  throw new CountsDisagree(`the files (${rows} rows, ${tokens} tokens)`, {
    ...{ old: counts.old.rows, new: counts.new.rows, duplicates: counts.duplicates.rows },
    ...{ dropped: 0, merged: counts.merged.rows },
  })
}

/** Lists every row that gave none; undefined when there is none. */
async function writeLeftOut(
  store: ObjectStore,
  version: number,
  units: readonly MadeUnit[],
  signal: AbortSignal,
): Promise<ExtraFile | undefined> {
  if (units.every(({ record }) => record.leftOut.rows === 0)) return undefined
  const key = `${versionName(version)}/left-out.jsonl`
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (const unit of units) yield Buffer.from(await leftOutLines(store, unit))
  }
  const { info, sha256 } = await publish(store, key, lines(), { signal })
  return { key, bytes: info.bytes, sha256 }
}

interface Made {
  version: number
  createdAt: string
  written: WrittenRows
  leftOut: ExtraFile | undefined
}

function manifestOf(
  { plan, file, made, base, ordered }: Writing,
  { version, createdAt, written, leftOut }: Made,
): TokenizedManifest {
  const { counts } = ordered
  const { inputs, options, model } = file
  const kept = options.existing === 'merge' ? base : undefined
  const before = (kept?.manifest as (Partial<TokenizedManifest> & DatasetManifest) | undefined)?.tokenized?.inputs ?? []
  const { uri: _, tokenizer: __, server: ___, ...shaping } = options
  const { kind, manifest, manifestHash, run } = inputs
  return {
    layout: datasetLayout,
    version,
    ...(base && { parent: { version: base.manifest.version, manifestHash: base.manifestHash } }),
    mergeId: plan.id,
    createdAt,
    ...{ format: 'arrow', compression: 'none' },
    rows: counts.merged.rows,
    bytes: written.files.reduce((sum, { bytes }) => sum + bytes, 0),
    tokens: counts.merged,
    files: written.files,
    extras: [...written.others, ...(leftOut ? [leftOut] : [])],
    columns: outputColumns(options.mask),
    hasProvenance: false,
    sources: Object.fromEntries(Object.entries(written.sources).map(([name, { rows }]) => [name, rows])),
    runs: [...(kept?.manifest.runs ?? []), ...(run ? [{ ...run, version }] : [])],
    tokenized: {
      model,
      inputs: [...before, { kind, manifest, manifestHash, version }],
      sources: written.sources,
      ...{ made, counts, options: shaping },
      ...(leftOut && { leftOut: leftOut.key }),
      alsoAs: written.others.map(({ key }) => key),
    },
  }
}
