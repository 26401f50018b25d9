import { ApplicationFailure, CancelledFailure, cancellationSignal, getClient, heartbeat } from '@temporalio/activity'
import pLimit from 'p-limit'
import { failureTypes, type ShardDispatch, type ShardTotals, signals } from '../../domain/dispatch.ts'
import type { ProbeResult } from '../../domain/engine-pool.ts'
import type { OpenStore } from '../../store/store.ts'
import { type KeptShard, keepSamples } from '../upload/keep-samples.ts'
import { ShardIncomplete, uploadShard } from '../upload/upload-shard.ts'
import { Cancelled, EngineRefused } from './complete-prompt.ts'
import { EngineLost } from './engine-gate.ts'
import type { EngineRuntime } from './engine-runtime.ts'
import type { EngineTimings } from './engine-timings.ts'
import { generateShard } from './generate-shard.ts'
import type { LiveReport } from './live-report.ts'

export interface GenerateDeps {
  runtime: EngineRuntime
  live: LiveReport
  openStore: OpenStore
  scratch: string
  timings: EngineTimings
  log: (message: string, facts?: Record<string, unknown>) => void
}

/** After an outage of the store many shards wait: each holds its list of prompts in memory while it is uploaded. */
const uploadsAtATime = 2

/** What a dispatch left of its shard; with nothing left, the shard can be uploaded. */
export interface GeneratedShard {
  /** Prompts that were not started. */
  unstarted: number
  /** Prompts that were left for another engine. */
  deferred: number
  /** The engine's worker is about to end. */
  isLeaving: boolean
}

/** Activities of an engine worker. `generateShard` is polled on the engine's queue, the others on its side queue. */
export type GenerateActivities = ReturnType<typeof createGenerateActivities>['lane'] &
  ReturnType<typeof createGenerateActivities>['side']

export function createGenerateActivities(deps: GenerateDeps) {
  const { runtime, live, openStore, scratch } = deps
  const uploads = pLimit(uploadsAtATime)

  return {
    lane: {
      async generateShard(dispatch: ShardDispatch): Promise<GeneratedShard> {
        const { ref, shard, epoch, scheduler } = dispatch
        if (dispatch.concurrency !== undefined) runtime.setConcurrency(dispatch.concurrency)
        const handle = getClient().workflow.getHandle(scheduler)
        const tellExhausted = () => {
          // Only a lane is freed later when this gets lost: the end of the shard frees it as well.
          handle.signal(signals.shardExhausted, { shard, epoch }).catch((error: unknown) => {
            deps.log('scheduler not told', { shard, error: String(error) })
          })
        }
        const beat = setInterval(() => heartbeat(), beatMs(dispatch))
        try {
          const { unstarted, deferred } = await generateShard(dispatch, {
            runtime,
            store: openStore(ref.store),
            scratch,
            timings: deps.timings,
            cancelled: cancellationSignal(),
            onExhausted: tellExhausted,
            onStart: (standing) => void live.follow(ref.run, ref.store, shard, standing),
            log: deps.log,
          })
          return { unstarted, deferred, isLeaving: runtime.isLeaving }
        } catch (error) {
          throw forWorkflow(error)
        } finally {
          clearInterval(beat)
        }
      },
    },
    side: {
      /** Asks how the engine is and what it serves. */
      async probeEngine(): Promise<ProbeResult> {
        return await runtime.probe()
      },

      /** Starts no further prompt of a run's shards, or of one; what is in flight may end. */
      async releaseShards({ run, shard }: { run: string; shard?: number }): Promise<void> {
        runtime.release(run, shard)
      },

      /** Sets how many requests may be in flight; left out: what the engine itself reports. */
      async setConcurrency({ concurrency }: { concurrency?: number }): Promise<void> {
        runtime.setConcurrency(concurrency)
      },

      /** Brings the samples of a half-done shard into the store, without committing it. */
      async keepSamples({ ref, shard }: KeptShard): Promise<void> {
        const beat = setInterval(() => heartbeat(), 5_000)
        try {
          await uploads(() => keepSamples({ ref, shard }, { store: openStore(ref.store), scratch }))
        } finally {
          clearInterval(beat)
        }
      },

      async uploadShard(dispatch: ShardDispatch): Promise<ShardTotals> {
        const { ref, shard } = dispatch
        const beat = setInterval(() => heartbeat(), beatMs(dispatch))
        try {
          const upload = () => uploadShard(dispatch, { store: openStore(ref.store), scratch, now: Date.now })
          const { samples, failures, inputTokens, outputTokens } = await uploads(upload)
          await live.forget(ref.run, ref.store, shard)
          return { samples, failures, inputTokens, outputTokens }
        } catch (error) {
          throw forWorkflow(error)
        } finally {
          clearInterval(beat)
        }
      },
    },
  }
}

/** Several times within the heartbeat timeout, so that one late beat is no death. */
function beatMs({ heartbeatSeconds }: ShardDispatch): number {
  return (heartbeatSeconds * 1000) / 4
}

/** Gives errors that the workflow acts on a type of their own; the rest are retried or reported as they are. */
function forWorkflow(error: unknown): unknown {
  const typed = (type: string) =>
    ApplicationFailure.create({ message: (error as Error).message, type, nonRetryable: true, cause: error as Error })
  if (error instanceof EngineLost) return typed(failureTypes.engineLost)
  if (error instanceof EngineRefused) return typed(failureTypes.engineRefused)
  if (error instanceof Cancelled) return new CancelledFailure(error.message)
  if (error instanceof ShardIncomplete) return typed(failureTypes.shardIncomplete)
  return error
}
