import { z } from 'zod'
import {
  decontaminateSchema,
  filtersSchema,
  formatSchema,
  mappingSchema,
  nearDuplicatesSchema,
  sourceUri,
  turnPolicySchema,
} from './prepare-spec.ts'
import { describeIssues } from './spec-issues.ts'
import { tokenizeSchema } from './tokenize-spec.ts'

export type { Decontaminate, Filters, Mapping, NearDuplicates, TurnPolicy } from './prepare-spec.ts'

/**
 * The single JSON input of a run. Required are only `run`, `sources` and `engines`; `parseSpec` fills in every default, so
 * that nothing downstream asks for one again.
 */

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/,
    'must be 1 to 80 letters, digits, dots, dashes or underscores, and begin with a letter or digit',
  )

export const storeUri = z.string().regex(/^(file:\/\/\/|s3:\/\/)./, 'must begin with file:/// or s3://')

/** Seeds may pass 2^53, which tctl would turn into a double: they are strings inside. */
const seed = z.union([z.string().min(1).max(200), z.int()]).transform(String)

const positive = z.int().min(1)

/** Sampling parameters under the names that SGLang's `/generate` uses, in camel case. */
export const samplingSchema = z.strictObject({
  maxNewTokens: positive.max(1_000_000),
  temperature: z.number().min(0).max(10),
  topP: z.number().gt(0).max(1),
  topK: z.int().min(-1),
  minP: z.number().min(0).max(1),
  frequencyPenalty: z.number().min(-2).max(2),
  presencePenalty: z.number().min(-2).max(2),
  repetitionPenalty: z.number().gt(0).max(2),
  stop: z.array(z.string()),
  stopTokenIds: z.array(z.int()),
  samplingSeed: z.int(),
})

/** What is left out is left to the engine, except for `maxNewTokens`: SGLang's own default is 128. */
export const partialSamplingSchema = samplingSchema.partial()
export type Sampling = z.infer<typeof partialSamplingSchema> & { maxNewTokens: number }

export const thinkingSchema = z.union([
  z.enum(['default', 'on', 'off']),
  z.strictObject({ onShare: z.number().min(0).max(1) }),
])

const sourceObject = z.strictObject({
  name: name.optional(),
  uri: z.union([sourceUri, z.array(sourceUri).min(1)]),
  format: formatSchema,
  mapping: mappingSchema.optional(),
  /** At most so many prompts, drawn with the seed. */
  limit: positive.optional(),
  /** This part of the source's prompts, drawn with the seed. */
  share: z.number().gt(0).max(1).optional(),
  /** Relative weight: weighted sources fill up what the others leave of `target`, or keep their proportions without one. */
  weight: z.number().gt(0).optional(),
  filters: filtersSchema.optional(),
  turns: turnPolicySchema.prefault({}),
  sampling: partialSamplingSchema.optional(),
  thinking: thinkingSchema.optional(),
  onBadFile: z.enum(['fail', 'skip']).optional(),
})

const sourceSchema = z
  .union([sourceUri, sourceObject])
  .transform((source) => (typeof source === 'string' ? sourceObject.parse({ uri: source }) : source))

const engineObject = z.strictObject({
  queue: name,
  /** Requests in flight; left out: what the engine itself reports, plus headroom. */
  concurrency: positive.optional(),
})

/** `8` stands for `gpu-0` to `gpu-7`; a list names task queues. */
const enginesSchema = z
  .union([positive.max(1024), z.array(z.union([name, engineObject])).min(1)])
  .transform((engines) =>
    typeof engines === 'number'
      ? Array.from({ length: engines }, (_, n) => ({ queue: `gpu-${n}` }))
      : engines.map((engine) => (typeof engine === 'string' ? { queue: engine } : engine)),
  )
  .refine((engines) => new Set(engines.map((engine) => engine.queue)).size === engines.length, 'names an engine twice')

/** Which samples are good enough to train on, beyond what generation accepted. */
const qualitySchema = z.strictObject({
  /** Answers that end in an endless loop. */
  looping: z.enum(['in', 'out']).default('out'),
  /** Answers without any text or tool call. */
  empty: z.enum(['in', 'out']).default('out'),
  /** Shorter last answers are left out. */
  minChars: positive.optional(),
})

export const datasetSchema = z.strictObject({
  /** Where the dataset lives: versions and the pointer to the current one. */
  uri: storeUri,
  /** Where the current version is backed up before it is merged into; left out: `<uri>-backup`. */
  backup: storeUri.optional(),
  /** Back-ups to keep, the newest ones; left out: all. The last good one is never removed. */
  keep: positive.optional(),
  /** What to do with a new sample whose conversation skeleton the dataset has. */
  duplicates: z.enum(['keepOld', 'keepNew', 'keepBoth']).default('keepOld'),
  /** Skeletons that are at least so similar count as duplicates as well (1: only those with the same words). */
  near: z.number().min(0.5).max(1).optional(),
  order: z.enum(['shuffle', 'append']).default('shuffle'),
  /** Samples that were cut at the token limit. */
  truncated: z.enum(['in', 'out']).default('in'),
  quality: qualitySchema.prefault({}),
  /** Exact share of new rows in the training split: whichever side has too many gives some up, drawn with the seed. */
  newShare: z.number().gt(0).lt(1).optional(),
  /** Most rows of a source, old and new together, drawn with the seed; `*` stands for every source not named. */
  caps: z.record(z.string(), z.int().min(0)).optional(),
  /** Sets a part of the training rows aside; a conversation stays on its side from version to version. */
  holdout: z
    .strictObject({
      share: z.number().gt(0).max(0.5),
      split: z.enum(['validation', 'test']).default('validation'),
    })
    .optional(),
  /** `same`: as the version before; a new dataset is JSON lines with gzip. */
  format: z.enum(['same', 'jsonl', 'parquet', 'arrow']).default('same'),
  compression: z.enum(['same', 'none', 'snappy', 'gzip', 'zstd']).default('same'),
  /** Aim for output files of this size before compression. */
  fileBytes: positive.default(256 * 1024 * 1024),
  /** Of the shuffle and of every draw: the same inputs with the same seed give the same bytes. */
  seed: seed.default('longhaul'),
  /** Whether each row says where it comes from, in columns `promptId` and `provenance` at its end. */
  provenance: z.enum(['columns', 'none']).default('columns'),
  /** How the rows of an adopted dataset are read when detection can't know. */
  mapping: mappingSchema.optional(),
})

/** Times that the workflows go by, in seconds. Shorter ones find trouble sooner and mistake slowness for it more often. */
const timingsSchema = z.strictObject({
  /** An engine worker that has not been heard of for so long is dead. */
  heartbeatSeconds: z.number().min(0.5).max(600).default(30),
  /** A shard that no worker has taken for so long goes to another engine. */
  scheduleToStartSeconds: z.number().min(0.5).max(3600).default(30),
  /** Waits before the nth probe in a row of an engine in trouble. */
  probeSeconds: z.array(z.number().min(0.1)).min(1).default([2, 5, 15, 30, 60]),
  /** Waits before the nth dispatch of a shard that failed. */
  retrySeconds: z.array(z.number().min(0)).min(1).default([1, 5, 15, 60]),
  /** How often shards are looked for whose report never came. */
  reconcileSeconds: z.number().min(1).default(300),
})

export const specSchema = z.strictObject({
  $schema: z.string().optional(),
  run: name,
  sources: z.array(sourceSchema).min(1),
  engines: enginesSchema,
  /** Left out: the store that the workers were started with. */
  store: storeUri.optional(),
  seed: seed.default('longhaul'),
  /** Prompts of the run; sources with a weight fill up what the others leave. Left out: all that the sources give. */
  target: positive.optional(),
  /** Leave out prompts that nearly repeat an earlier one. */
  nearDuplicates: nearDuplicatesSchema.optional(),
  /** Leave out prompts that share text with evaluation data. */
  decontaminate: decontaminateSchema.optional(),
  /** Folder with the model's tokenizer.json, where the data workers run: token counts are then exact. */
  tokenizer: z.string().min(1).optional(),
  /** `native`: SGLang's /tokenize and /generate, ids and all. `chat`: any OpenAI-compatible server. */
  mode: z.enum(['native', 'chat']).default('native'),
  /** Refuse engines that serve anything else. Left out: what the first engine serves. */
  model: z.string().min(1).optional(),
  sampling: partialSamplingSchema.default({}).transform((given): Sampling => ({ maxNewTokens: 8192, ...given })),
  thinking: thinkingSchema.default('default'),
  /** Answers cut at the token limit: keep and flag, ask once more with twice the limit, or fail. */
  truncation: z.enum(['keep', 'extend', 'fail']).default('keep'),
  /** Attempts that a prompt may use up; a parked engine uses up none. */
  attempts: positive.max(20).default(3),
  shardSize: positive.max(8192).default(500),
  /** Shards with unstarted prompts on one engine at a time. */
  lanes: positive.max(16).default(2),
  onBadFile: z.enum(['fail', 'skip']).default('fail'),
  /** Of sample objects. */
  compression: z.enum(['gzip', 'zstd']).default('gzip'),
  /** How much of each uploaded object is read back. */
  verify: z.enum(['head', 'sample', 'full']).default('head'),
  dataset: datasetSchema.optional(),
  /** Make tokens of the samples as well, once the run is over. */
  tokenize: tokenizeSchema.optional(),
  timings: timingsSchema.default(() => timingsSchema.parse({})),
})

/** A spec with every default filled in. */
export type Spec = Omit<z.output<typeof specSchema>, 'sources'> & { sources: Source[] }
export type Source = z.output<typeof sourceObject> & { name: string }
export type ThinkingChoice = z.infer<typeof thinkingSchema>
export type Timings = z.output<typeof timingsSchema>
export type DatasetOptions = z.infer<typeof datasetSchema>

/** What the scheduler goes by. */
export type SchedulingSpec = Pick<Spec, 'engines' | 'lanes' | 'model' | 'timings'>

/** Only what the scheduler goes by: the sources may be long, and a workflow's input stays small. */
export function schedulingOf({ engines, lanes, model, timings }: Spec): SchedulingSpec {
  return { engines, lanes, timings, ...(model && { model }) }
}

/** The spec can't be used; the message has a line per problem: the field, its value, what is allowed. */
export class InvalidSpec extends Error {
  override readonly name = 'InvalidSpec'
  constructor(readonly problems: readonly string[]) {
    super(`The spec can't be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/** Checks a spec and fills in the defaults. Throws `InvalidSpec`. */
export function parseSpec(input: unknown): Spec {
  const parsed = specSchema.safeParse(input)
  if (!parsed.success) throw new InvalidSpec(describeIssues(parsed.error.issues, input))
  return { ...parsed.data, sources: withNames(parsed.data.sources) }
}

/** Sources without a name take the last part of their URI, numbered when taken. */
function withNames(sources: z.output<typeof sourceObject>[]): Source[] {
  const taken = new Set(sources.flatMap((source) => source.name ?? []))
  return sources.map((source) => {
    if (source.name) return { ...source, name: source.name }
    const base = baseName(Array.isArray(source.uri) ? (source.uri[0] ?? '') : source.uri)
    let candidate = base
    for (let n = 2; taken.has(candidate); n++) candidate = `${base}-${n}`
    taken.add(candidate)
    return { ...source, name: candidate }
  })
}

function baseName(uri: string): string {
  const last = uri.split(/[/\\]/).filter(Boolean).at(-1) ?? 'source'
  const withoutExtensions = last.replace(/(\.(jsonl?|ndjson|parquet|arrow|csv|tsv|gz|zst|bz2|xz))+$/i, '')
  return (
    withoutExtensions
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 60) || 'source'
  )
}
