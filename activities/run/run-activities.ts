import { ApplicationFailure, Context, getClient, heartbeat } from '@temporalio/activity'
import { WorkflowNotFoundError } from '@temporalio/client'
import { sum } from '../../domain/counts.ts'
import { failureTypes, type RunRef, workflowIds } from '../../domain/dispatch.ts'
import type { Plan } from '../../domain/plan.ts'
import type { RunStatus } from '../../domain/progress.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import { rangesOf, type ShardRanges } from '../../domain/shard-ranges.ts'
import { type SchedulingSpec, type Spec, schedulingOf } from '../../domain/spec.ts'
import { readJson } from '../../store/read-object.ts'
import type { OpenStore } from '../../store/store.ts'
import { ProgressReporter } from '../progress/progress-reporter.ts'
import { readRetryRounds } from '../retry/failures.ts'
import type { RunRecord } from '../run-record.ts'
import { listCommittedShards } from './commits.ts'
import { SpecDiffers, startRun } from './start-run.ts'

export interface RunDeps {
  openStore: OpenStore
  defaultStore: string
  /** How often `progress.json` is replaced. */
  progressEveryMs: number
  log: (message: string, facts?: Record<string, unknown>) => void
}

/** A run and what its scheduler goes by. */
export interface FoundRun {
  ref: RunRef
  spec: SchedulingSpec
}

/** What the store says of a run when the scheduler starts or looks again. */
export interface RunState {
  /** Of the plan, and of the retry rounds since. */
  shards: number
  done: ShardRanges
}

export type RunActivities = ReturnType<typeof createRunActivities>

/** Light activities, served by control workers beside the workflows. */
export function createRunActivities({ openStore, defaultStore, progressEveryMs, log }: RunDeps) {
  return {
    async startRun(spec: Spec): Promise<RunRef> {
      try {
        return await startRun(spec, { openStore, defaultStore, now: Date.now })
      } catch (error) {
        if (!(error instanceof SpecDiffers)) throw error
        throw ApplicationFailure.nonRetryable(error.message, failureTypes.specDiffers)
      }
    },

    /** What the workflows need to know of a run that was started before. */
    async findRun({ run, store: storeUri = defaultStore }: { run: string; store?: string }): Promise<FoundRun> {
      const store = openStore(storeUri)
      const key = runKeys(run).spec
      if (!(await store.head(key))) {
        throw ApplicationFailure.nonRetryable(`${storeUri} holds no run ${run}.`, failureTypes.noSuchRun)
      }
      const { spec, specHash } = await readJson<RunRecord>(store, key)
      return { ref: { run, store: storeUri, specHash }, spec: schedulingOf(spec) }
    },

    async readRunState({ run, store: storeUri }: RunRef): Promise<RunState> {
      const store = openStore(storeUri)
      const { shardSizes } = await readJson<Plan>(store, runKeys(run).plan)
      const retried = sum(await readRetryRounds(store, run), (round) => round.shardSizes.length)
      return { shards: shardSizes.length + retried, done: rangesOf(await listCommittedShards(store, run)) }
    },

    /** Of shards that count as in flight, those whose workflow is not running (any more). */
    async findLostShards({ run, shards }: { run: string; shards: number[] }): Promise<number[]> {
      const lost: number[] = []
      for (const shard of shards) {
        heartbeat()
        if (!(await isRunning(workflowIds.shard(run, shardName(shard))))) lost.push(shard)
      }
      return lost
    },

    /** Keeps `progress.json` up to date until it is cancelled, or another reporter has taken over. */
    async keepProgress({ ref: { run, store }, status }: { ref: RunRef; status: RunStatus }): Promise<void> {
      const reporter = new ProgressReporter(openStore(store), run, Date.now)
      const { cancelled, sleep } = Context.current()
      for (;;) {
        heartbeat()
        if ((await reportOrLog(reporter, status)) === 'superseded') return
        await Promise.race([sleep(progressEveryMs), cancelled])
      }
    },

    async reportProgress({ ref: { run, store }, status }: { ref: RunRef; status: RunStatus }): Promise<void> {
      await new ProgressReporter(openStore(store), run, Date.now).report(status)
    },
  }

  /** A store that is out of reach only makes the report late. */
  async function reportOrLog(
    reporter: ProgressReporter,
    status: RunStatus,
  ): Promise<'written' | 'superseded' | 'late'> {
    try {
      return (await reporter.report(status)) ? 'written' : 'superseded'
    } catch (error) {
      log('progress.json not written', { error: String(error) })
      return 'late'
    }
  }
}

async function isRunning(workflowId: string): Promise<boolean> {
  try {
    return (await getClient().workflow.getHandle(workflowId).describe()).status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}
