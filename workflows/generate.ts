import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  sleep,
  workflowInfo,
} from '@temporalio/workflow'
import type { RunRef } from '../domain/dispatch.ts'
import { createPool, type Pool, type PoolOptions } from '../domain/engine-pool.ts'
import type { SchedulingSpec } from '../domain/spec.ts'
import { runActivities } from './activity-groups.ts'
import { Scheduler } from './scheduler.ts'
import { StatusFollower } from './status-follower.ts'

export interface GenerateInput {
  ref: RunRef
  spec: SchedulingSpec
  /** State that the history before this one left; undefined at the start. */
  pool?: Pool
}

export interface GenerateResult {
  /** It was stopped before every shard was committed. */
  isStopped: boolean
}

/** Beyond so many dispatches, a fresh history takes over. */
const dispatchesPerHistory = 400

/**
 * Owns the engine pool and the shard cursor: starts a child for each dispatch of a shard until every shard is committed.
 * What goes where is decided in `domain/engine-pool.ts`.
 */
export async function generate(input: GenerateInput): Promise<GenerateResult> {
  const { ref, spec } = input
  const pool = input.pool ?? (await openPool(input))
  const scheduler = new Scheduler({ ref, spec, pool })
  const status = new StatusFollower(ref)
  const reconciling = new CancellationScope()
  void reconciling.run(() => reconcileNowAndThen(scheduler, spec.timings.reconcileSeconds)).catch(ignoreCancellation)
  try {
    while (!scheduler.isFinished && !scheduler.isStopping && !isHistoryFull(scheduler)) {
      status.follow(scheduler.status)
      await scheduler.step()
    }
    status.follow(scheduler.status)
    if (scheduler.isStopping) await scheduler.stop()
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => scheduler.cancelShards())
    throw error
  } finally {
    reconciling.cancel()
    status.end()
  }
  await condition(allHandlersFinished)
  if (scheduler.isFinished || scheduler.isStopping) return { isStopped: !scheduler.isFinished }
  return await continueAsNew<typeof generate>({ ref, spec, pool: await scheduler.handOver() })
}

async function openPool({ ref, spec }: GenerateInput): Promise<Pool> {
  const { shards, done } = await runActivities.readRunState(ref)
  const { probeSeconds, retrySeconds } = spec.timings
  const options: PoolOptions = {
    shards,
    lanes: spec.lanes,
    probeBackOffMs: probeSeconds.map((seconds) => seconds * 1000),
    retryBackOffMs: retrySeconds.map((seconds) => seconds * 1000),
    quarantineAfter: 3,
    maxShardFailures: 10,
  }
  const pool = createPool(options, spec.engines, Date.now())
  pool.done = done
  return pool
}

function isHistoryFull(scheduler: Scheduler): boolean {
  return scheduler.started >= dispatchesPerHistory || workflowInfo().continueAsNewSuggested
}

async function reconcileNowAndThen(scheduler: Scheduler, seconds: number): Promise<void> {
  for (;;) {
    await sleep(seconds * 1000)
    await scheduler.reconcile()
  }
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error
}
