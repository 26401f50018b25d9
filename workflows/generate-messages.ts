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

/** Controls: each is there as a signal, for tctl and scripts, and as an update, which answers. */

/** May be left out. */
export interface StopRequest {
  /** Requests in flight may go on for so long; then they are given up. */
  graceSeconds?: number
}
export interface EngineRequest {
  /** Task queue of the engine. */
  engine: string
}
export interface ConcurrencyRequest extends EngineRequest {
  /** Requests in flight; left out: what the engine itself reports. */
  concurrency?: number
}

export const pauseSignal = defineSignal(signals.pause)
export const resumeSignal = defineSignal(signals.resume)
export const stopSignal = defineSignal<[StopRequest]>(signals.stop)
export const addEngineSignal = defineSignal<[EngineRequest]>(signals.addEngine)
export const drainEngineSignal = defineSignal<[EngineRequest]>(signals.drainEngine)
export const setConcurrencySignal = defineSignal<[ConcurrencyRequest]>(signals.setConcurrency)

export const pauseUpdate = defineUpdate<SchedulerProgress>(signals.pause)
export const resumeUpdate = defineUpdate<SchedulerProgress>(signals.resume)
export const stopUpdate = defineUpdate<SchedulerProgress, [StopRequest]>(signals.stop)
export const addEngineUpdate = defineUpdate<SchedulerProgress, [EngineRequest]>(signals.addEngine)
export const drainEngineUpdate = defineUpdate<SchedulerProgress, [EngineRequest]>(signals.drainEngine)
export const setConcurrencyUpdate = defineUpdate<SchedulerProgress, [ConcurrencyRequest]>(signals.setConcurrency)
