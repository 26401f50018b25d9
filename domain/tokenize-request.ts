import { z } from 'zod'
import { describeIssues } from './spec-issues.ts'
import { type TokenizeOptions, tokenizeSchema } from './tokenize-spec.ts'
import type { SourceShare, TokenCounts } from './tokenized.ts'

const storeUri = z.string().regex(/^(file:\/\/\/|s3:\/\/)./, 'must begin with file:/// or s3://')
const refSchema = z.object({ run: z.string(), store: z.string(), specHash: z.string() })

const inputSchema = z
  .strictObject({
    tokenize: tokenizeSchema,
    /** Name of a finished run in the workers' default store (or in `store`), or the URI of its manifest. */
    run: z.string().min(1).optional(),
    store: storeUri.optional(),
    /** Given by the run's own workflow instead. */
    ref: refSchema.optional(),
    /** Or a dataset: its current version, or the one named. */
    dataset: storeUri.optional(),
    version: z.int().min(1).optional(),
    /** A data worker that has not been heard of for so long is dead, and another one takes over. */
    heartbeatSeconds: z.number().min(0.5).max(600).default(60),
  })
  .refine((input) => [input.run, input.ref, input.dataset].filter((given) => given !== undefined).length === 1, {
    path: ['run'],
    error: 'must be a finished run (or else `dataset` the URI of a dataset)',
  })

/** What is tokenized into what. */
export interface TokenizeRequest {
  tokenize: TokenizeOptions
  from:
    | { kind: 'run'; run: string; store?: string }
    /** Left out `version`: the current one. */
    | { kind: 'dataset'; uri: string; version?: number }
  heartbeatSeconds: number
}

/** What the stage ends with. */
export interface TokenizeResult {
  /** URI of the tokenized dataset, its current version, and the URI of that one's manifest. */
  dataset: string
  version: number
  manifest: string
  rows: number
  tokens: number
  supervised: number
  /** False when the same was tokenized before, or nothing new came: then nothing was written. */
  changed: boolean
  counts?: TokenCounts
  /** Rows that did not become tokens. */
  leftOut?: number
  /** The largest sources, for a look; the manifest has them all. */
  sources?: Record<string, SourceShare>
}

/** The input of the stage can't be used; the message has a line per problem. */
export class InvalidTokenize extends Error {
  override readonly name = 'InvalidTokenize'
  constructor(readonly problems: readonly string[]) {
    super(`Tokenizing can't be started:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

const example = '{"tokenize":{"uri":"file:///data/tokens","tokenizer":"/models/my-model"},"run":"my-run"}'

/** Checks the input of the stage and fills in the defaults. Throws `InvalidTokenize`. */
export function parseTokenizeRequest(input: unknown): TokenizeRequest {
  if (input === undefined || input === null) {
    throw new InvalidTokenize([`there is no input: give one, such as ${example}`])
  }
  const parsed = inputSchema.safeParse(input)
  if (!parsed.success) throw new InvalidTokenize(describeIssues(parsed.error.issues, input))
  const { tokenize, run, ref, dataset, version, heartbeatSeconds, store = ref?.store } = parsed.data
  const from: TokenizeRequest['from'] =
    dataset === undefined
      ? { kind: 'run', run: ref?.run ?? run ?? '', ...(store !== undefined && { store }) }
      : { kind: 'dataset', uri: dataset, ...(version !== undefined && { version }) }
  return { tokenize, from, heartbeatSeconds }
}
