import { z } from 'zod'
import { type FailureReason, failureReasons } from './failure-reasons.ts'
import { partialSamplingSchema, type Spec, thinkingSchema } from './spec.ts'
import { describeIssues } from './spec-issues.ts'

/** What may be asked for differently the second time. */
const changesSchema = z.strictObject({
  sampling: partialSamplingSchema.optional(),
  thinking: thinkingSchema.optional(),
  truncation: z.enum(['keep', 'extend', 'fail']).optional(),
  attempts: z.int().min(1).max(20).optional(),
})
export type RetryChanges = z.infer<typeof changesSchema>

const reasonSchema = z.enum(Object.keys(failureReasons) as [FailureReason, ...FailureReason[]])

const requestSchema = z.strictObject({
  run: z.string().min(1),
  /** Left out: the store that the workers were started with. */
  store: z.string().optional(),
  /** Only failures with these reasons. */
  reasons: z.array(reasonSchema).min(1).optional(),
  /** Only these prompts. */
  promptIds: z.array(z.string()).min(1).max(1_000).optional(),
  changes: changesSchema.default({}),
})
export type RetryRequest = z.output<typeof requestSchema>

/**
 * `retries/0001.json`: failed prompts that are asked again, as further shards of the run. Their outcome counts from then on;
 * the failures of before stay where they are.
 */
export interface RetryRound {
  round: number
  /** Who asked for it: the same again finds its round instead of making another. */
  token: string
  /** Number of its first shard; they follow the shards of before. */
  firstShard: number
  shardSizes: number[]
  prompts: number
  /** Of the failures that are asked again. */
  reasons: Record<string, number>
  sources: Record<string, number>
  changes: RetryChanges
}

/** The request can't be used; the message has a line per problem. */
export class InvalidRetry extends Error {
  override readonly name = 'InvalidRetry'
  constructor(readonly problems: readonly string[]) {
    super(`The retry can't be started:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/** Checks the input of a retry. Throws `InvalidRetry`. */
export function parseRetryRequest(input: unknown): RetryRequest {
  const parsed = requestSchema.safeParse(input)
  if (parsed.success) return parsed.data
  throw new InvalidRetry(describeIssues(parsed.error.issues, input))
}

/** How a shard is asked: as the spec says, changed by the retry round that it belongs to. */
export function specOfShard(spec: Spec, rounds: readonly RetryRound[], shard: number): Spec {
  const round = rounds.find(
    ({ firstShard, shardSizes }) => shard >= firstShard && shard < firstShard + shardSizes.length,
  )
  if (!round) return spec
  const { sampling, ...changes } = round.changes
  return {
    ...spec,
    ...changes,
    sampling: { ...spec.sampling, ...sampling },
    // What a source says of its own would win over the change that was asked for.
    sources: spec.sources.map((source) => ({
      ...source,
      ...(source.sampling && { sampling: { ...source.sampling, ...sampling } }),
      ...(changes.thinking && { thinking: changes.thinking }),
    })),
  }
}
