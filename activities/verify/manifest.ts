import type { CommittedObject, RunManifest, ShardCommit } from '../../domain/commit.ts'
import { subtractCounts, sum, sumCounts } from '../../domain/counts.ts'
import type { Plan } from '../../domain/plan.ts'
import type { RetryRound } from '../../domain/retry.ts'
import { differences } from './count-findings.ts'

/** Everything that a manifest is put together from. */
export interface ManifestParts {
  plan: Plan
  planHash: string
  rounds: RetryRound[]
  commits: ShardCommit[]
  promptObjects: CommittedObject[]
}

/** What the manifest of a run says, but for the time at which it was written. */
export type ManifestFacts = Omit<RunManifest, 'completedAt'>

export function manifestOf({ plan, planHash, rounds, commits, promptObjects }: ManifestParts): ManifestFacts {
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
  }
}

/** In what a manifest differs from what is there, a line each. */
export function manifestDifferences(manifest: RunManifest, facts: ManifestFacts): string[] {
  return differences(byKey(manifest), byKey(facts), '')
}

/** Objects under their keys: one that is missing is then one difference, and not one in every place after it. */
function byKey(facts: ManifestFacts): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      name,
      name.endsWith('Objects') && Array.isArray(value)
        ? Object.fromEntries((value as CommittedObject[]).map((object) => [object.key, object]))
        : value,
    ]),
  )
}
