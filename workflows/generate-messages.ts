import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import { type ShardReport, signals } from '../domain/dispatch.ts'
import type { EngineState, InFlightShard } from '../domain/engine-pool.ts'
import type { RunStatus } from '../domain/progress.ts'

/** What the scheduler answers to the query `progress`. */
export interface SchedulerProgress {
  status: RunStatus
  shards: { total: number; done: number; inFlight: number; waiting: number; quarantined: number }
  engines: { queue: string; state: EngineState; why?: string; strikes: number; shards: number[] }[]
  inFlight: Pick<InFlightShard, 'shard' | 'epoch' | 'engine' | 'isExhausted'>[]
}

export const progressQuery = defineQuery<SchedulerProgress>('progress')

export const shardExhaustedSignal = defineSignal<[{ shard: number; epoch: number }]>(signals.shardExhausted)
export const shardReportedSignal = defineSignal<[ShardReport]>(signals.shardReported)

/** Each control is there as a signal, for tctl and scripts, and as an update, which answers. */
export const pauseSignal = defineSignal(signals.pause)
export const pauseUpdate = defineUpdate<SchedulerProgress>(signals.pause)
export const resumeSignal = defineSignal(signals.resume)
export const resumeUpdate = defineUpdate<SchedulerProgress>(signals.resume)
export const addEngineSignal = defineSignal<[{ engine: string }]>(signals.addEngine)
export const addEngineUpdate = defineUpdate<SchedulerProgress, [{ engine: string }]>(signals.addEngine)
export const drainEngineSignal = defineSignal<[{ engine: string }]>(signals.drainEngine)
export const drainEngineUpdate = defineUpdate<SchedulerProgress, [{ engine: string }]>(signals.drainEngine)
