import { join } from 'node:path'
import type { DatasetManifest } from '../../../domain/dataset.ts'
import { trainSplit } from '../../../domain/splits.ts'
import type { TokenizeRequest } from '../../../domain/tokenize-request.ts'
import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import type { ModelIdentity, TokenizedManifest } from '../../../domain/tokenized.ts'
import type { HubOptions } from '../../../formats/places/hub-cache.ts'
import { sha256Hex } from '../../../shuffle/digest.ts'
import { publish } from '../../../store/publish.ts'
import type { ObjectStore, OpenStore } from '../../../store/store.ts'
import { adopt } from '../../merge/adopt/adopt.ts'
import { mergedRunOf, readRun } from '../../merge/plan-merge.ts'
import { readCurrent, readVersion, rootOf } from '../../merge/versions/read-version.ts'
import { TokenizeRefused } from '../errors.ts'
import { locateModel } from '../model/locate-model.ts'
import type { ModelFiles } from '../model/model-files.ts'
import { tokenColumns } from '../tokens/token-columns.ts'
import {
  type PlanFile,
  shapingOptions,
  type TokenizeInputs,
  type TokenizePlan,
  tokenizeCode,
  type UnitFile,
  workKeys,
} from './plan-file.ts'
import { storeModel } from './store-model.ts'

export interface PlanDeps {
  openStore: OpenStore
  /** Store of runs that are named without one. */
  defaultStore: string
  scratch: string
  hub: HubOptions
  now: () => number
  signal: AbortSignal
  /** Holds the model against a running server. Throws `TokenizeRefused`. */
  checkServer(files: ModelFiles, options: TokenizeOptions): Promise<void>
  onProgress(progress: object): void
}

/** Looks at what is to be tokenized, with what, and into what; freezes that as a plan in the store. */
export async function planTokenize(
  { tokenize: options, from }: TokenizeRequest,
  deps: PlanDeps,
): Promise<TokenizePlan> {
  const store = deps.openStore(options.uri)
  const { inputs, units, tokenizer } = await readInputs(from, deps)
  const place = options.tokenizer ?? tokenizer
  if (place === undefined) {
    throw new TokenizeRefused(
      '`tokenize.tokenizer` is missing: name a folder with tokenizer.json, or hf://<owner>/<name>.',
    )
  }
  const files = await locateModel(place, deps.hub)
  const current = (await readCurrent(store)) ?? (await adoptCurrent(store, deps))
  const model = await storeModel(store, files)
  if (current) checkCurrent(current.manifest as Partial<TokenizedManifest> & DatasetManifest, model, options)
  const base = current && {
    version: current.manifest.version,
    manifestHash: current.manifestHash,
    pointerEtag: current.read.etag,
    serial: current.read.pointer.serial,
  }
  await deps.checkServer(files, options)
  const id = planIdOf(options, model, inputs, base?.manifestHash)
  // Where the model was taken from makes no difference to what comes out.
  const { tokenizer: _, server: __, ...shaping } = options
  const plan: PlanFile = { id, options: shaping, model, inputs, units }
  const text = `${JSON.stringify(plan)}\n`
  await publish(store, workKeys.plan(id), text)
  const before =
    current && madeBefore(current.manifest as Partial<TokenizedManifest> & DatasetManifest, inputs, options)
  return {
    ...{ uri: store.uri, id, planHash: sha256Hex(text), units: units.length },
    rows: units.reduce((sum, { rows }) => sum + rows, 0),
    ...(base && { base }),
    ...(before !== undefined && { madeBefore: before }),
  }
}

interface FoundInputs {
  inputs: TokenizeInputs
  units: UnitFile[]
  /** What the run's own spec says. */
  tokenizer?: string
}

async function readInputs(from: TokenizeRequest['from'], deps: PlanDeps): Promise<FoundInputs> {
  if (from.kind === 'dataset') return await readDataset(from, deps)
  const run = await readRun(from, deps)
  const { store, key, manifest, manifestHash, spec } = run
  const { version: _, ...merged } = mergedRunOf(run, 0)
  return {
    inputs: {
      ...{ kind: 'samples', store: store.uri, manifest: `${store.uri}/${key}`, manifestHash },
      run: merged,
    },
    units: manifest.sampleObjects.map(({ key, bytes, sha256, rows }) => ({ key, bytes, sha256, rows })),
    ...(spec?.tokenizer !== undefined && { tokenizer: spec.tokenizer }),
  }
}

async function readDataset({ uri, version }: { uri: string; version?: number }, deps: PlanDeps): Promise<FoundInputs> {
  const dataset = deps.openStore(uri)
  const read = version === undefined ? await readCurrent(dataset) : await readVersion(dataset, version)
  if (!read) throw new TokenizeRefused(`${uri} is no dataset with versions: adopt it, or merge a run into it first.`)
  const { manifest, manifestHash } = read
  if (tokenColumns(manifest.columns)) throw new TokenizeRefused(`${uri} is tokenized already.`)
  return {
    inputs: {
      ...{ kind: 'rows', store: rootOf(manifest, dataset, deps.openStore).uri },
      ...{ manifest: `${dataset.uri}/${read.manifest.version}`, manifestHash },
      ...(manifest.shape && { shape: manifest.shape }),
    },
    // Rows that are set aside are what models are tested with: nothing learns from them.
    units: manifest.files
      .filter(({ split }) => split === trainSplit)
      .map(({ key, bytes, sha256, rows }) => ({ key, bytes, sha256, rows })),
  }
}

async function adoptCurrent(store: ObjectStore, { scratch, now, signal, onProgress }: PlanDeps) {
  const spool = join(scratch, `adopt-${sha256Hex(store.uri).slice(0, 16)}`)
  const report = (progress: { file: string; bytes: number }) => onProgress({ phase: 'adopting', ...progress })
  return (await adopt(store, { from: store, spool, now, signal, onProgress: report })) && (await readCurrent(store))
}

/** What the new tokens are to be merged with must be tokens of the same model. */
function checkCurrent(
  { version, columns, tokenized }: Partial<TokenizedManifest> & DatasetManifest,
  model: ModelIdentity,
  { uri, existing }: TokenizeOptions,
): void {
  if (!tokenColumns(columns)) {
    const names = columns.map(({ name }) => name).join(', ')
    throw new TokenizeRefused(
      `${uri} holds no tokens (its columns are ${names}): give the tokenized dataset a place of its own.`,
    )
  }
  const before = tokenized?.model
  if (existing === 'replace' || !before) return
  const differing = (['tokenizerHash', 'templateHash'] as const).filter((hash) => before[hash] !== model[hash])
  if (differing.length === 0) return
  const what = differing.map((hash) => (hash === 'tokenizerHash' ? 'tokenizer' : 'chat template')).join(' and another ')
  throw new TokenizeRefused(
    `Version ${version} of ${uri} was made with another ${what}. Tokenize into another place, or set \`existing\` to "replace" and tokenize everything again.`,
  )
}

/** The version that has the same in it already. */
function madeBefore(
  { version, tokenized }: Partial<TokenizedManifest> & DatasetManifest,
  { manifestHash }: TokenizeInputs,
  { existing }: TokenizeOptions,
): number | undefined {
  const inputs = tokenized?.inputs ?? []
  const isIn = inputs.some((input) => input.manifestHash === manifestHash)
  return isIn && (existing === 'merge' || inputs.length === 1) ? version : undefined
}

function planIdOf(
  options: TokenizeOptions,
  model: ModelIdentity,
  { manifestHash }: TokenizeInputs,
  base: string | undefined,
): string {
  const { mask, alsoAs, existing, duplicates, fileBytes, seed, supervisedShare, tolerate } = options
  const shaping = { ...shapingOptions(options), mask, alsoAs, existing, duplicates, fileBytes, seed }
  const text = JSON.stringify([tokenizeCode, shaping, supervisedShare, tolerate, model, manifestHash, base ?? null])
  return sha256Hex(text).slice(0, 32)
}
