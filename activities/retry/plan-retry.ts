import { countBy } from '../../domain/counts.ts'
import { cutShards, type Plan } from '../../domain/plan.ts'
import type { Prompt } from '../../domain/prompt.ts'
import type { RetryRequest, RetryRound } from '../../domain/retry.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Failure } from '../../domain/sample.ts'
import { publish } from '../../store/publish.ts'
import { putJson } from '../../store/put-json.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { readPrompts } from '../generate/shard-prompts.ts'
import type { RunRecord } from '../run-record.ts'
import { readFailures, readRetryRounds } from './failures.ts'

/** Nothing of the run fits what was asked for. */
export class NothingToRetry extends Error {
  override readonly name = 'NothingToRetry'
}

/**
 * Makes the failures that were chosen into further shards of the run. With a token that has made a round already, that round
 * is the answer. Throws `NothingToRetry`, and `PreconditionFailed` when another round is being made at the same time.
 */
export async function planRetry(store: ObjectStore, request: RetryRequest, token: string): Promise<RetryRound> {
  const { run, changes } = request
  const keys = runKeys(run)
  const rounds = await readRetryRounds(store, run)
  const made = rounds.find((round) => round.token === token)
  if (made) return made
  const { spec } = await readJson<RunRecord>(store, keys.spec)
  const { shardSizes } = await readJson<Plan>(store, keys.plan)
  const { failures, prompts } = await choose(store, request)
  if (prompts.length === 0) throw new NothingToRetry(`Run ${run} has no failure ${describe(request)}.`)

  const firstShard = shardSizes.length + rounds.reduce((total, round) => total + round.shardSizes.length, 0)
  const cut = { prompts: prompts.length, shardSize: spec.shardSize, engines: spec.engines.length, lanes: spec.lanes }
  const round: RetryRound = {
    round: rounds.length + 1,
    token,
    firstShard,
    shardSizes: cutShards(cut),
    prompts: prompts.length,
    reasons: countBy(failures, ({ reason }) => reason),
    sources: countBy(failures, ({ source }) => source),
    changes,
  }
  let start = 0
  for (const [n, size] of round.shardSizes.entries()) {
    const lines = prompts.slice(start, start + size).map((prompt) => `${JSON.stringify(prompt)}\n`)
    await publish(store, keys.prompts(firstShard + n), lines.join(''))
    start += size
  }
  // Last: only now are there further shards to be found.
  await putJson(store, keys.retry(round.round), round, { onlyIf: 'absent' })
  return round
}

/** Chosen failures and their prompts, in the order of the plan. */
async function choose(
  store: ObjectStore,
  { run, reasons, promptIds }: RetryRequest,
): Promise<{ failures: Failure[]; prompts: Prompt[] }> {
  const keys = runKeys(run)
  const byShard = new Map<number, Failure[]>()
  for await (const { failure, commit } of readFailures(store, run)) {
    if (reasons && !reasons.includes(failure.reason)) continue
    if (promptIds && !promptIds.includes(failure.promptId)) continue
    byShard.set(commit.shard, [...(byShard.get(commit.shard) ?? []), failure])
  }
  const prompts: Prompt[] = []
  for (const [shard, failures] of byShard) {
    const wanted = new Set(failures.map((failure) => failure.promptId))
    const stored = await readPrompts(store, keys.prompts(shard))
    prompts.push(...stored.filter(({ promptId }) => wanted.has(promptId)).map((prompt) => prompt.read()))
  }
  return { failures: [...byShard.values()].flat(), prompts }
}

function describe({ reasons, promptIds }: RetryRequest): string {
  const parts = [reasons && `with reason ${reasons.join(' or ')}`, promptIds && 'among the prompts that were named']
  return parts.filter(Boolean).join(', ') || 'left'
}
