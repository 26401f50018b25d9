import { Worker } from '@temporalio/worker'
import type { Logger } from 'pino'
import { createRunActivities } from '../activities/run/run-activities.ts'
import { createOpenStore } from '../store/open-store.ts'
import { type Environment, workflowBundlePath } from './environment.ts'
import { connectWorker } from './temporal-connection.ts'
import { runUntilSignal } from './until-signal.ts'

export interface ControlWorkerOptions {
  taskQueue: string
  /** How often `progress.json` is replaced. */
  progressEveryMs: number
}

/** Workflows and light activities. Any number of these may run. */
export async function runControlWorker(
  options: ControlWorkerOptions,
  environment: Environment,
  log: Logger,
): Promise<void> {
  const { connection, namespace } = await connectWorker()
  const openStore = createOpenStore({ s3: environment.s3 })
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: options.taskQueue,
    workflowBundle: { codePath: workflowBundlePath() },
    activities: createRunActivities({
      openStore,
      defaultStore: environment.defaultStore,
      progressEveryMs: options.progressEveryMs,
      log: (message, facts) => log.info(facts ?? {}, message),
    }),
    // Each cached workflow costs about a megabyte; a run has one for each shard in flight and a few more.
    maxCachedWorkflows: 200,
    maxHeartbeatThrottleInterval: '5s',
    shutdownGraceTime: '5s',
  })
  log.info({ taskQueue: options.taskQueue }, 'control worker is up')
  await runUntilSignal([worker])
  await openStore.close()
  await connection.close()
}
