import type { ShardCommit } from '../../domain/commit.ts'
import type { RetryRound } from '../../domain/retry.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Failure } from '../../domain/sample.ts'
import { readLines } from '../../store/read-lines.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { readPrompts } from '../generate/shard-prompts.ts'
import { Commits } from '../run/commits.ts'

/** The retry rounds of a run so far, in order. */
export async function readRetryRounds(store: ObjectStore, run: string): Promise<RetryRound[]> {
  const rounds: RetryRound[] = []
  for await (const { key } of store.list(runKeys(run).retriesFolder))
    rounds.push(await readJson<RetryRound>(store, key))
  return rounds
}

/** Failures of a run that have not been asked again, shard by shard. */
export async function* readFailures(
  store: ObjectStore,
  run: string,
): AsyncGenerator<{ failure: Failure; commit: ShardCommit }> {
  const retried = await readRetriedIn(store, run, await readRetryRounds(store, run))
  for (const commit of await new Commits(store, run).read()) {
    for (const { key } of commit.failureObjects) {
      for await (const line of readLines(store, key)) {
        const failure = JSON.parse(line) as Failure
        if ((retried.get(failure.promptId) ?? -1) <= commit.shard) yield { failure, commit }
      }
    }
  }
}

/** For each prompt that was asked again, the last shard that it was asked in. */
async function readRetriedIn(store: ObjectStore, run: string, rounds: RetryRound[]): Promise<Map<string, number>> {
  const keys = runKeys(run)
  const retried = new Map<string, number>()
  for (const { firstShard, shardSizes } of rounds) {
    for (let shard = firstShard; shard < firstShard + shardSizes.length; shard++) {
      for (const { promptId } of await readPrompts(store, keys.prompts(shard))) retried.set(promptId, shard)
    }
  }
  return retried
}
