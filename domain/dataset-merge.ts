import { z } from 'zod'
import type { MergeCounts } from './dataset.ts'
import { type DatasetOptions, datasetSchema, storeUri } from './spec.ts'
import { describeIssues } from './spec-issues.ts'

const refSchema = z.object({ run: z.string(), store: z.string(), specHash: z.string() })

const mergeInputSchema = z
  .strictObject({
    /** Options as in a spec, or the dataset's URI alone. */
    dataset: z
      .union([storeUri, datasetSchema])
      .transform((dataset) => (typeof dataset === 'string' ? datasetSchema.parse({ uri: dataset }) : dataset)),
    /** Name of a run in the workers' default store (or in `store`), or the URI of a run's manifest. */
    run: z.string().min(1).optional(),
    store: storeUri.optional(),
    /** Given by the run's own workflow instead. */
    ref: refSchema.optional(),
    /** A data worker that has not been heard of for so long is dead. */
    heartbeatSeconds: z.number().min(0.5).max(600).default(60),
  })
  .refine(({ run, ref }) => (run === undefined) !== (ref === undefined), {
    path: ['run'],
    error: 'must be the name of a finished run or the URI of its manifest',
  })

/** What is merged into what. */
export interface MergeRequest {
  dataset: DatasetOptions
  /** Name or manifest URI. */
  run: string
  /** Store that a run's name is looked up in; left out: the workers' default store. */
  store?: string
  heartbeatSeconds: number
}

/** What a merge ends with. */
export interface MergeResult {
  dataset: string
  /** The dataset's current version. */
  version: number
  /** URI of its manifest. */
  manifest: string
  rows: number
  /** False when the run was merged before, or brought nothing new: then nothing was written. */
  changed: boolean
  /** Of the merge that made the version; left out where there was none. */
  counts?: Omit<MergeCounts, 'sources'>
  /** Where the version before is backed up; left out when there was none. */
  backup?: string
}

/** The input of the merge can't be used; the message has a line per problem. */
export class InvalidMerge extends Error {
  override readonly name = 'InvalidMerge'
  constructor(readonly problems: readonly string[]) {
    super(`The merge can't be started:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

const example = '{"dataset":{"uri":"file:///data/train"},"run":"my-run"}'

/** Checks the input of a merge and fills in the defaults. Throws `InvalidMerge`. */
export function parseMergeRequest(input: unknown): MergeRequest {
  if (input === undefined || input === null) throw new InvalidMerge([`there is no input: give one, such as ${example}`])
  const parsed = mergeInputSchema.safeParse(input)
  if (!parsed.success) throw new InvalidMerge(describeIssues(parsed.error.issues, input))
  const { dataset, run, ref, store = ref?.store, heartbeatSeconds } = parsed.data
  return { dataset, run: ref?.run ?? run ?? '', ...(store !== undefined && { store }), heartbeatSeconds }
}
