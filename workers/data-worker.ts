import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from '@temporalio/worker'
import type { Logger } from 'pino'
import { createMergeActivities } from '../activities/merge/merge-activities.ts'
import { createPrepareActivities } from '../activities/prepare/prepare-activities.ts'
import { createDataActivities } from '../activities/run/data-activities.ts'
import { createTokenizeActivities } from '../activities/tokenize/tokenize-activities.ts'
import { createOpenStore } from '../store/open-store.ts'
import type { Environment } from './environment.ts'
import { connectWorker } from './temporal-connection.ts'
import { runUntilSignal } from './until-signal.ts'

export interface DataWorkerOptions {
  taskQueue: string
  /** CPU cores to use; left out: all. */
  threads?: number
}

/** CPU-heavy stages: prepare, verify, merge, tokenize. */
export async function runDataWorker(options: DataWorkerOptions, environment: Environment, log: Logger): Promise<void> {
  const { connection, namespace } = await connectWorker()
  const openStore = createOpenStore({ s3: environment.s3 })
  const { scratch } = environment
  const threads = options.threads ?? availableParallelism()
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: options.taskQueue,
    activities: {
      ...createPrepareActivities({
        openStore,
        scratch: join(scratch, 'prepare'),
        threads,
        hub: environment.hub,
      }),
      ...createDataActivities({ openStore, scratch }),
      ...createMergeActivities({ openStore, defaultStore: environment.defaultStore, scratch: join(scratch, 'merge') }),
      ...createTokenizeActivities({
        ...{ openStore, defaultStore: environment.defaultStore, scratch: join(scratch, 'tokenize'), threads },
        hub: environment.hub,
        ...(environment.engineApiKey !== undefined && { engineApiKey: environment.engineApiKey }),
        log: (message, facts) => log.warn(facts ?? {}, message),
      }),
    },
    // Each uses all the cores that it was given.
    maxConcurrentActivityTaskExecutions: 2,
    maxHeartbeatThrottleInterval: '5s',
    shutdownGraceTime: '5s',
  })
  log.info({ taskQueue: options.taskQueue }, 'data worker is up')
  await runUntilSignal([worker])
  await openStore.close()
  await connection.close()
}
