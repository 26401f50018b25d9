import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow'
import type { GenerateActivities } from '../activities/generate/generate-activities.ts'
import { failureTypes, type ShardDispatch, type ShardReport, sideQueue, signals } from '../domain/dispatch.ts'
import type { ShardOutcome } from '../domain/engine-pool.ts'

/**
 * One dispatch of one shard: generate on one engine's queue, upload from the same host, commit, and tell the scheduler how
 * it went. Ends well whatever happens to the shard: what to do about it is the scheduler's to decide.
 */
export async function generateShard(dispatch: ShardDispatch): Promise<void> {
  const { shard, epoch, scheduler } = dispatch
  const ended = await runDispatch(dispatch)
  const report: ShardReport = { shard, epoch, ...ended }
  await CancellationScope.nonCancellable(() =>
    getExternalWorkflowHandle(scheduler).signal(signals.shardReported, report),
  )
}

type Ended = Omit<ShardReport, 'shard' | 'epoch'>

async function runDispatch(dispatch: ShardDispatch): Promise<Ended> {
  try {
    const { unstarted, deferred, isLeaving } = await laneActivities(dispatch).generateShard(dispatch)
    if (unstarted > 0) return { outcome: isLeaving ? 'workerLeft' : 'handedBack' }
    if (deferred > 0) return { outcome: 'deferred' }
    return { outcome: 'committed', committed: await sideActivities(dispatch).uploadShard(dispatch) }
  } catch (error) {
    return { outcome: outcomeOf(error), why: reasonOf(error) }
  }
}

/**
 * Pinned to the engine's queue, and tried once: a retry would come back to the queue of an engine that may be dead. The
 * scheduler dispatches again, elsewhere.
 */
function laneActivities({ engine, heartbeatSeconds, scheduleToStartSeconds }: ShardDispatch) {
  return proxyActivities<Pick<GenerateActivities, 'generateShard'>>({
    taskQueue: engine,
    // A dead worker is found by its heartbeat; a shard itself may take as long as it takes.
    startToCloseTimeout: '7 days',
    heartbeatTimeout: heartbeatSeconds * 1000,
    scheduleToStartTimeout: scheduleToStartSeconds * 1000,
    retry: { maximumAttempts: 1 },
    // The place must really be free before the shard goes to another engine.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  })
}

/**
 * Retried as long as the run lives, since a store may be down for hours and the samples are safe on disk. Only when no
 * worker of that host has been there for long is the shard given to another engine.
 */
function sideActivities({ engine, heartbeatSeconds, scheduleToStartSeconds }: ShardDispatch) {
  return proxyActivities<Pick<GenerateActivities, 'uploadShard'>>({
    taskQueue: sideQueue(engine),
    startToCloseTimeout: '1 day',
    heartbeatTimeout: heartbeatSeconds * 1000,
    // Longer than a restart of the worker takes: what it has on disk would be generated again elsewhere.
    scheduleToStartTimeout: scheduleToStartSeconds * 5 * 1000,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  })
}

function outcomeOf(error: unknown): ShardOutcome {
  if (isCancellation(error)) return 'handedBack'
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  if (cause instanceof TimeoutFailure) return isNeverStarted(cause) ? 'notStarted' : 'engineLost'
  if (!(cause instanceof ApplicationFailure)) return 'failed'
  switch (cause.type) {
    case 'WorkerShutdown':
      return 'workerLeft'
    case failureTypes.engineLost:
      return 'engineLost'
    case failureTypes.engineRefused:
      return 'engineRefused'
    default:
      return 'failed'
  }
}

function isNeverStarted({ timeoutType }: TimeoutFailure): boolean {
  return timeoutType === 'SCHEDULE_TO_START'
}

function reasonOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error
  if (cause instanceof TimeoutFailure) {
    return isNeverStarted(cause) ? 'no worker took the shard' : 'its worker stopped sending heartbeats'
  }
  return cause instanceof Error ? cause.message : String(cause)
}
