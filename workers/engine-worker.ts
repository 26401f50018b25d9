import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Worker } from '@temporalio/worker'
import type { Logger } from 'pino'
import { parseArgsStringToArgv } from 'string-argv'
import { EngineRuntime } from '../activities/generate/engine-runtime.ts'
import { defaultTimings, type EngineTimings } from '../activities/generate/engine-timings.ts'
import { createGenerateActivities } from '../activities/generate/generate-activities.ts'
import { LiveReport } from '../activities/generate/live-report.ts'
import { ScratchGuard } from '../activities/generate/scratch-guard.ts'
import { sideQueue } from '../domain/dispatch.ts'
import type { Spec } from '../domain/spec.ts'
import { ChatClient } from '../sglang/chat-client.ts'
import { NativeClient } from '../sglang/native-client.ts'
import { EngineProcess } from '../sglang/supervisor/engine-process.ts'
import { launchOf } from '../sglang/supervisor/launch.ts'
import { defaultRestartBudget } from '../sglang/supervisor/restart-plan.ts'
import { createOpenStore } from '../store/open-store.ts'
import type { Environment } from './environment.ts'
import { connectWorker } from './temporal-connection.ts'
import { runUntilSignal } from './until-signal.ts'

export interface EngineWorkerOptions {
  /** Task queue of the engine, such as `gpu-0`. */
  queue: string
  /** URL of its SGLang server. */
  url: string
  mode: Spec['mode']
  concurrency?: number
  /** Run the server as well. */
  launch?: ServerLaunch
  /** After SIGTERM, requests in flight may go on for so long. */
  graceMs: number
  timings?: Partial<EngineTimings>
  /** Of the scratch disk, kept free: with less, nothing new is started. */
  minFreeBytes: number
}

export interface ServerLaunch {
  /** Command line of the server; host, ports, GPU and caches are added. */
  command: string
  gpu: string
  startDelayMs: number
}

/** Shards that one engine takes at a time, of all runs together. In the tail of a run there are many small ones. */
const places = 64

/** Feeds one engine. It holds no state but its journals: killed at any time, another takes over where it was. */
export async function runEngineWorker(
  options: EngineWorkerOptions,
  environment: Environment,
  log: Logger,
): Promise<void> {
  const { queue, url, mode, graceMs } = options
  // Collect garbage early: answers come and go by the thousand, and the machine's memory belongs to the models.
  setFlagsFromString('--heap-growing-percent=40')
  await mkdir(environment.scratch, { recursive: true })
  const { connection, namespace } = await connectWorker()
  const openStore = createOpenStore({ s3: environment.s3 })
  const timings = { ...defaultTimings, ...options.timings }
  const say = (message: string, facts?: Record<string, unknown>) => log.info(facts ?? {}, message)
  const http = { url, connections: 1024, ...(environment.engineApiKey && { apiKey: environment.engineApiKey }) }
  const server = options.launch && startServer(options.launch, options, environment, say)
  const runtime = new EngineRuntime({
    queue,
    mode,
    client: mode === 'native' ? new NativeClient(http) : new ChatClient(http),
    timings,
    scratch: new ScratchGuard({ folder: environment.scratch, minFreeBytes: options.minFreeBytes }),
    places,
    ...(server && { server }),
    ...(options.concurrency && { concurrency: options.concurrency }),
    now: Date.now,
    log: say,
  })
  const live = new LiveReport({ runtime, openStore, everyMs: timings.liveMs, now: Date.now, log: say })
  const activities = createGenerateActivities({
    runtime,
    live,
    openStore,
    scratch: environment.scratch,
    timings,
    log: say,
  })
  const shared = { connection, namespace, shutdownGraceTime: graceMs, maxHeartbeatThrottleInterval: '2s' } as const
  const lane = await Worker.create({
    ...shared,
    taskQueue: queue,
    activities: activities.lane,
    maxConcurrentActivityTaskExecutions: places,
  })
  const side = await Worker.create({ ...shared, taskQueue: sideQueue(queue), activities: activities.side })
  log.info({ queue, url }, 'engine worker is up')
  await runUntilSignal([lane, side], () => runtime.leave())
  await live.close()
  await runtime.close()
  await server?.stop()
  await openStore.close()
  await connection.close()
}

function startServer(
  { command, gpu, startDelayMs }: ServerLaunch,
  { queue, url }: EngineWorkerOptions,
  { home, launchEnv }: Environment,
  log: (message: string, facts?: Record<string, unknown>) => void,
): EngineProcess {
  const folder = join(home, 'engines', queue)
  const { port } = new URL(url)
  return new EngineProcess({
    launch: launchOf({
      command: parseArgsStringToArgv(command),
      gpu,
      port: Number(port),
      cacheFolder: join(folder, 'cache'),
    }),
    env: launchEnv,
    logFile: join(home, 'logs', `engine-${queue}.log`),
    startDelayMs,
    startLimitMs: 20 * 60_000,
    silenceLimitMs: 10 * 60_000,
    stopGraceMs: 10_000,
    budget: defaultRestartBudget,
    now: Date.now,
    log,
  })
}
