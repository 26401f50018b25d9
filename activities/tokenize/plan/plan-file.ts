import { createHash } from 'node:crypto'
import type { MergedRun } from '../../../domain/dataset.ts'
import type { RowShape } from '../../../domain/row-shape.ts'
import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import type { ModelIdentity } from '../../../domain/tokenized.ts'
import { readBytes } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import type { MergePlan } from '../../merge/plan-merge.ts'

/** Raised when the same inputs and options would give other tokens than before: cached units of older code don't count. */
export const tokenizeCode = 1

/** A file to be tokenized: what one worker does at a time, and what is cached. */
export interface UnitFile {
  /** Key in the input's store. */
  key: string
  bytes: number
  sha256: string
  rows: number
}

/** What is tokenized: the samples of a run, or the rows of a dataset's version. */
export interface TokenizeInputs {
  kind: 'samples' | 'rows'
  /** URI of the store that the files lie in. */
  store: string
  /** URI of the run's or version's manifest, and the SHA-256 of its bytes. */
  manifest: string
  manifestHash: string
  /** How the rows of a dataset hold a conversation. */
  shape?: RowShape
  /** How the next version lists the run; its version number is filled in then. */
  run?: Omit<MergedRun, 'version'>
}

/** `_work/plans/<id>.json` in the tokenized dataset: everything that the workers need to know. */
export interface PlanFile {
  id: string
  options: TokenizeOptions
  model: ModelIdentity
  inputs: TokenizeInputs
  units: UnitFile[]
}

/** The plan in short, handed from activity to activity. */
export interface TokenizePlan {
  /** URI of the tokenized dataset. */
  uri: string
  id: string
  /** SHA-256 of the plan's bytes. */
  planHash: string
  units: number
  rows: number
  /** Version that is current; none for a dataset that does not exist yet. */
  base?: NonNullable<MergePlan['base']>
  /** The same was tokenized into this version before: there is nothing to do. */
  madeBefore?: number
}

/** Where the tokenized dataset keeps what is in the making: a name that no reader of datasets takes for data. */
export const workKeys = {
  plan: (id: string) => `_work/plans/${id}.json`,
  /** Rows, record and rows left out of a unit. */
  unit: (unitKey: string, what: 'rows' | 'json' | 'left-out.jsonl') => `_work/units/${unitKey}.${what}`,
}

/** Where the files of a model lie in the tokenized dataset: its versions are read with them. */
export function modelKeyOf(hash: string): string {
  return `_models/${hash}.json`
}

/** Reads a plan, held against its hash. */
export async function readPlan(store: ObjectStore, { id, planHash }: TokenizePlan): Promise<PlanFile> {
  const bytes = await readBytes(store, workKeys.plan(id))
  const hash = createHash('sha256').update(bytes).digest('hex')
  if (hash !== planHash) throw new Error(`${store.uri}/${workKeys.plan(id)} has changed since the stage was started.`)
  return JSON.parse(bytes.toString('utf8')) as PlanFile
}

/** The options that decide what a unit's tokens are. */
export function shapingOptions({ maxLength, overlong, templateKwargs, today }: TokenizeOptions) {
  return { maxLength, overlong, templateKwargs, ...(today !== undefined && { today }) }
}
