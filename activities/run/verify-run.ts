import { createHash } from 'node:crypto'
import type { CommittedObject, RunManifest, ShardCommit } from '../../domain/commit.ts'
import { subtractCounts, sum, sumCounts } from '../../domain/counts.ts'
import type { Plan } from '../../domain/plan.ts'
import type { RetryRound } from '../../domain/retry.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { hashObject } from '../../store/hash-object.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { readRetryRounds } from '../retry/failures.ts'
import { Commits } from './commits.ts'
import { verifyShard } from './verify-shard.ts'

/** The store does not hold what the run's records say; the message has a line per finding. */
export class RunNotWhole extends Error {
  override readonly name = 'RunNotWhole'
  constructor(
    run: string,
    readonly findings: readonly string[],
  ) {
    super(`Run ${run} is not whole:\n${findings.map((finding) => `  - ${finding}`).join('\n')}`)
  }
}

/** More findings than this are counted, not listed. */
const longestList = 20

/**
 * Reads every object of a run again and proves that each prompt of the plan is exactly one sample or one failure, by id,
 * and that every object has the bytes that its record says. A prompt that was asked again counts by its last outcome. Memory
 * is bounded by the size of a shard and the number of failures. Returns the manifest. Throws `RunNotWhole`.
 */
export async function verifyRun(
  store: ObjectStore,
  run: string,
  onShard: (shard: number, shards: number) => void,
  now: () => number,
): Promise<RunManifest> {
  const keys = runKeys(run)
  const plan = await readJson<Plan>(store, keys.plan)
  const rounds = await readRetryRounds(store, run)
  const sizes = [...plan.shardSizes, ...rounds.flatMap((round) => round.shardSizes)]
  const commits = new Map((await new Commits(store, run).read()).map((commit) => [commit.shard, commit]))
  const findings: string[] = []
  const promptObjects: CommittedObject[] = []
  const allIds = createHash('sha256')
  const failed = new Set<string>()
  for (const [shard, size] of sizes.entries()) {
    onShard(shard, sizes.length)
    const verified = await verifyShard(store, run, shard, size, commits.get(shard))
    findings.push(...verified.findings)
    if (shard < plan.shardSizes.length) {
      promptObjects.push(verified.promptObject)
      for (const id of verified.promptIds) allIds.update(`${id}\n`)
    } else {
      for (const id of verified.promptIds)
        if (!failed.delete(id)) findings.push(`prompt ${id} was asked again although it had not failed`)
    }
    for (const id of verified.failedIds) failed.add(id)
  }
  if (allIds.digest('hex') !== plan.idsHash) findings.push('the prompts are not those that the plan was made of')
  if (findings.length > 0) throw new RunNotWhole(run, shortened(findings))
  const planHash = await hashObject(store, keys.plan)
  return manifestOf({ plan, planHash, rounds, commits: [...commits.values()], promptObjects, now: now() })
}

interface Verified {
  plan: Plan
  planHash: string
  rounds: RetryRound[]
  commits: ShardCommit[]
  promptObjects: CommittedObject[]
  now: number
}

function manifestOf({ plan, planHash, rounds, commits, promptObjects, now }: Verified): RunManifest {
  const sampleObjects = commits.flatMap((commit) => commit.sampleObjects)
  const allReasons = sumCounts(commits.map((commit) => commit.reasons))
  const allFailures = sumCounts(commits.map((commit) => commit.sources.failures))
  return {
    run: plan.run,
    specHash: plan.specHash,
    planHash,
    model: commits[0]?.model ?? '',
    weightVersion: commits[0]?.weightVersion ?? '',
    prompts: plan.prompts,
    samples: sum(commits, (commit) => commit.samples),
    failures: sum(commits, (commit) => commit.failures) - sum(rounds, (round) => round.prompts),
    truncated: sum(commits, (commit) => commit.truncated),
    reasons: subtractCounts(allReasons, sumCounts(rounds.map((round) => round.reasons))),
    sources: {
      samples: sumCounts(commits.map((commit) => commit.sources.samples)),
      failures: subtractCounts(allFailures, sumCounts(rounds.map((round) => round.sources))),
    },
    inputTokens: sum(commits, (commit) => commit.inputTokens),
    outputTokens: sum(commits, (commit) => commit.outputTokens),
    promptObjects,
    sampleObjects,
    failureObjects: commits.flatMap((commit) => commit.failureObjects),
    retries: rounds.map(({ round, firstShard, shardSizes, prompts }) => ({
      round,
      firstShard,
      shards: shardSizes.length,
      prompts,
    })),
    sampleBytes: sum(sampleObjects, (object) => object.bytes),
    completedAt: new Date(now).toISOString(),
  }
}

function shortened(findings: string[]): string[] {
  if (findings.length <= longestList) return findings
  return [...findings.slice(0, longestList), `and ${findings.length - longestList} more`]
}
