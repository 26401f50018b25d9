import { proxyActivities, workflowInfo } from '@temporalio/workflow'
import type { GenerateActivities } from '../activities/generate/generate-activities.ts'
import type { PrepareActivities } from '../activities/prepare/prepare-activities.ts'
import type { DataActivities } from '../activities/run/data-activities.ts'
import type { RunActivities } from '../activities/run/run-activities.ts'
import { dataQueueOf, sideQueue } from '../domain/dispatch.ts'
import type { Timings } from '../domain/spec.ts'

/** Activities by how they fail: one group for each set of time-outs, with the reason for them. */

/** Short reads and writes of the store, which may be out of reach for hours: retried as long as the run lives. */
export const runActivities = proxyActivities<Omit<RunActivities, 'keepProgress'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
})

/** Runs beside a stage until it is cancelled; a lost one is started again at once. */
export const progressActivities = proxyActivities<Pick<RunActivities, 'keepProgress'>>({
  startToCloseTimeout: '30 days',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 1 },
})

/** Hours of work that heartbeat and go on where they were; what is wrong with the data is not retried. */
export function dataActivities() {
  return proxyActivities<PrepareActivities & DataActivities>({
    taskQueue: dataQueueOf(workflowInfo().taskQueue),
    startToCloseTimeout: '7 days',
    heartbeatTimeout: '2 minutes',
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  })
}

/**
 * Questions to one engine's worker. Tried once: no answer is an answer, and asking again later is up to the engine pool.
 */
export function engineQuestions(engine: string, { scheduleToStartSeconds }: Timings) {
  return proxyActivities<Pick<GenerateActivities, 'probeEngine' | 'releaseShards' | 'setConcurrency'>>({
    taskQueue: sideQueue(engine),
    scheduleToStartTimeout: Math.min(10, scheduleToStartSeconds) * 1000,
    // A health check takes an engine up to 20 s.
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: 1 },
  })
}

/**
 * Uploads of half-done shards from the host that has their journals. Tried for a while only: when that host is gone, the
 * checkpoints in the store are the next best.
 */
export function keepingActivities(engine: string, { scheduleToStartSeconds }: Timings) {
  return proxyActivities<Pick<GenerateActivities, 'keepSamples'>>({
    taskQueue: sideQueue(engine),
    scheduleToStartTimeout: scheduleToStartSeconds * 1000,
    startToCloseTimeout: '1 hour',
    heartbeatTimeout: '1 minute',
    retry: { maximumAttempts: 5 },
  })
}
