import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { RunManifest } from '../../domain/commit.ts'
import { type MergedRun, versionName } from '../../domain/dataset.ts'
import type { MergeRequest } from '../../domain/dataset-merge.ts'
import { outputOf, outputProblem } from '../../domain/output.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { DatasetOptions, Spec } from '../../domain/spec.ts'
import { ObjectNotFound } from '../../store/errors.ts'
import { readBytes, readJson } from '../../store/read-object.ts'
import type { ObjectStore, OpenStore } from '../../store/store.ts'
import type { RunRecord } from '../run-record.ts'
import { adopt } from './adopt/adopt.ts'
import { RunNotMergeable } from './errors.ts'
import { readCurrent } from './versions/read-version.ts'

/** What one attempt at a merge goes by: few strings, so that it can be handed from activity to activity. */
export interface MergePlan {
  options: DatasetOptions
  /** Version that is merged into; none for a dataset that does not exist yet. */
  base?: { version: number; manifestHash: string; pointerEtag: string; serial: number }
  /** The run's store, its manifest's key in it, and the hash of its bytes. */
  run: { store: string; key: string; manifestHash: string }
  /** The same inputs and options give the same id. */
  mergeId: string
  /** The run is in this version already. */
  mergedInto?: number
}

/** Raised when the same inputs would give other bytes than before. */
const mergeCode = 1

export interface PlanDeps {
  openStore: OpenStore
  defaultStore: string
  scratch: string
  now: () => number
  signal?: AbortSignal
  onProgress: (progress: { file: string; bytes: number }) => void
}

/** Looks at the dataset and the run, adopts the files of a dataset without versions, and says what is to be merged. */
export async function planMerge(request: MergeRequest, deps: PlanDeps): Promise<MergePlan> {
  const { dataset: options } = request
  const store = deps.openStore(options.uri)
  const run = await readRun(request, deps)
  const current = (await readCurrent(store)) ?? (await adoptCurrent(store, request, deps))
  const base = current && {
    version: current.manifest.version,
    manifestHash: current.manifestHash,
    pointerEtag: current.read.etag,
    serial: current.read.pointer.serial,
  }
  const problem = outputProblem(outputOf(options, current?.manifest))
  if (problem) throw new RunNotMergeable(`The merge can't be started: ${problem}.`)
  const merged = current?.manifest.runs.find(({ manifestHash }) => manifestHash === run.manifestHash)
  return {
    options,
    ...(base && { base }),
    run: { store: run.store.uri, key: run.key, manifestHash: run.manifestHash },
    mergeId: mergeIdOf(options, base?.manifestHash, run.manifestHash),
    ...(merged && { mergedInto: merged.version }),
  }
}

async function adoptCurrent(store: ObjectStore, { dataset: { mapping } }: MergeRequest, deps: PlanDeps) {
  const { scratch, now, signal, onProgress } = deps
  const spool = join(scratch, `adopt-${createHash('sha256').update(store.uri).digest('hex').slice(0, 16)}`)
  const adopted = await adopt(store, { from: store, ...(mapping && { mapping }), spool, now, signal, onProgress })
  return adopted && (await readCurrent(store))
}

export interface ReadRun {
  store: ObjectStore
  key: string
  manifest: RunManifest
  manifestHash: string
  /** What the run was asked to do; left out where that is gone. */
  spec?: Spec
}

/** The run of a name or manifest URI. Throws `RunNotMergeable`. */
export async function readRun(
  { run, store: storeUri }: Pick<MergeRequest, 'run' | 'store'>,
  deps: Pick<PlanDeps, 'openStore' | 'defaultStore'>,
): Promise<ReadRun> {
  const { store, key } = placeOfRun(run, storeUri ?? deps.defaultStore, deps.openStore)
  return await readRunManifest(store, key)
}

export async function readRunManifest(store: ObjectStore, key: string, expectedHash?: string): Promise<ReadRun> {
  try {
    const bytes = await readBytes(store, key)
    const manifestHash = createHash('sha256').update(bytes).digest('hex')
    if (expectedHash !== undefined && manifestHash !== expectedHash) {
      throw new RunNotMergeable(`${store.uri}/${key} is not the manifest that the merge was started with.`)
    }
    const manifest = JSON.parse(bytes.toString('utf8')) as RunManifest
    const spec = await readSpec(store, manifest.run)
    return { store, key, manifest, manifestHash, ...(spec && { spec }) }
  } catch (error) {
    if (!(error instanceof ObjectNotFound)) throw error
    throw new RunNotMergeable(
      `There is no ${store.uri}/${key}: the run does not exist there, or it has not been verified yet. A run is merged by its name or by the URI of its manifest.json.`,
    )
  }
}

async function readSpec(store: ObjectStore, run: string): Promise<Spec | undefined> {
  const { spec: key } = runKeys(run)
  return (await store.head(key)) ? (await readJson<RunRecord>(store, key)).spec : undefined
}

const manifestUri = /^(.+?)\/(runs\/[^/]+\/manifest\.json)$/

function placeOfRun(run: string, storeUri: string, openStore: OpenStore): { store: ObjectStore; key: string } {
  if (!run.includes('://')) return { store: openStore(storeUri), key: runKeys(run).manifest }
  const [, root, key] = manifestUri.exec(run) ?? []
  if (root === undefined || key === undefined) {
    throw new RunNotMergeable(`${run} is no manifest of a run: those end with runs/<run>/manifest.json.`)
  }
  return { store: openStore(root), key }
}

function mergeIdOf(options: DatasetOptions, baseHash: string | undefined, runHash: string): string {
  const { uri: _, backup: __, keep: ___, ...shaping } = options
  const text = JSON.stringify({ mergeCode, base: baseHash ?? null, run: runHash, ...shaping })
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** How a version lists the run that went into it. */
export function mergedRunOf({ store, key, manifest, manifestHash, spec }: ReadRun, version: number): MergedRun {
  const { run, specHash, model, weightVersion, samples } = manifest
  const uri = `${store.uri}/${key}`
  const asked = spec && { sampling: spec.sampling, sources: spec.sources.flatMap((source) => shownUris(source.uri)) }
  return { run, manifest: uri, manifestHash, specHash, model, weightVersion, samples, ...asked, version }
}

/** Without what may be a secret in the address of a web server. */
function shownUris(uri: string | string[]): string[] {
  return [uri]
    .flat()
    .map((one) => (/^https?:/.test(one) ? one.replace(/\/\/[^/@]*@/, '//').replace(/[?#].*$/, '') : one))
}

export function backupUriOf({ uri, backup }: DatasetOptions): string {
  return backup ?? `${uri.replace(/\/+$/, '')}-backup`
}

export function versionUri(options: DatasetOptions, version: number): string {
  return `${options.uri.replace(/\/+$/, '')}/${versionName(version)}`
}
