import { mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { defaultTaskQueue, workflowIds } from '../../domain/dispatch.ts'
import type { Progress } from '../../domain/progress.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { findTemporalBinary } from '../../servers/temporal-binary.ts'
import { TemporalServer } from '../../servers/temporal-server.ts'
import type { SimulatedEngineOptions } from '../../sglang/simulator/options.ts'
import { type SimulatedEngine, startSimulatedEngine } from '../../sglang/simulator/simulated-engine.ts'
import { createOpenStore, type StoreOpener } from '../../store/open-store.ts'
import type { S3Options } from '../../store/s3-options.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { AllWorkers } from '../../workers/all-workers.ts'
import { LocalCluster } from '../../workers/local-cluster.ts'

export interface ClusterOptions {
  engines: number
  engine?: Partial<SimulatedEngineOptions>
  /** Left out: a folder of the cluster's own. */
  store?: { uri: string; s3: S3Options; env: NodeJS.ProcessEnv }
  /** Of the engine workers. */
  timings?: string
  dynamicConfig?: Record<string, unknown>
}

/** Short times, so that what is lost is found within seconds. */
export const quickTimings = {
  heartbeatSeconds: 4,
  scheduleToStartSeconds: 4,
  probeSeconds: [0.3, 0.6, 1],
  retrySeconds: [0.1, 0.5],
  reconcileSeconds: 5,
}

/** Everything that a run needs: simulated engines in this process, the rest as real processes on this machine. */
export class Cluster {
  private constructor(
    readonly home: string,
    readonly engines: SimulatedEngine[],
    private readonly cluster: LocalCluster,
    private readonly openStore: StoreOpener,
    readonly storeUri: string,
  ) {}

  static async start(options: ClusterOptions): Promise<Cluster> {
    const home = await mkdtemp(join(tmpdir(), 'longhaul-test-'))
    const engines = await Promise.all(
      Array.from({ length: options.engines }, () => startSimulatedEngine({ port: 0, ...options.engine })),
    )
    const storeUri = options.store?.uri ?? `file://${join(home, 'store')}`
    const timings =
      options.timings ??
      'recheckMs=100,lostAfterMs=2000,stallMs=5000,controlMs=200,rampMs=50,liveMs=300,checkpointMs=500'
    const cluster = await LocalCluster.start({
      home,
      urls: engines.map(({ url }) => url),
      env: {
        ...options.store?.env,
        LONGHAUL_STORE: storeUri,
        AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      },
      taskQueue: defaultTaskQueue,
      engineArguments: () => ['--grace-seconds', '1', '--min-free-mib', '16', '--timings', timings],
      controlArguments: ['--progress-seconds', '0.3'],
      ...(options.dynamicConfig && { dynamicConfig: options.dynamicConfig }),
    })
    return new Cluster(home, engines, cluster, createOpenStore({ s3: options.store?.s3 ?? {} }), storeUri)
  }

  get store(): ObjectStore {
    return this.openStore(this.storeUri)
  }

  get client(): Client {
    return this.cluster.client
  }

  get workers(): AllWorkers {
    return this.cluster.workers
  }

  get temporal(): TemporalServer {
    if (!this.cluster.temporal) throw new Error('The cluster has a Temporal server of its own.')
    return this.cluster.temporal
  }

  /** Starts a run; the rest of the spec has defaults that suit tests. */
  async startRun(spec: { run: string; sources: unknown[] } & Record<string, unknown>) {
    return await this.client.workflow.start('expandDataset', {
      taskQueue: defaultTaskQueue,
      workflowId: workflowIds.run(spec.run),
      args: [{ engines: this.engines.length, timings: quickTimings, ...spec }],
    })
  }

  async progress(run: string): Promise<Progress | undefined> {
    const { progress } = runKeys(run)
    if (!(await this.store.head(progress))) return undefined
    const { body } = await this.store.get(progress)
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString())
  }

  async stop(): Promise<void> {
    await this.cluster.stop()
    await Promise.all(this.engines.map((engine) => engine.close()))
    await this.openStore.close()
    await rm(this.home, { recursive: true, force: true })
  }
}

/** A persistent server of the test's own. */
export async function startTemporal(home: string, dynamicConfig?: Record<string, unknown>): Promise<TemporalServer> {
  return await TemporalServer.start({
    binary: await temporalBinary(),
    databaseFile: join(home, 'temporal.db'),
    logFile: join(home, 'logs', 'temporal.log'),
    ...(dynamicConfig && { dynamicConfig }),
  })
}

/** Path of the `temporal` command line, which is the server as well. */
export async function temporalBinary(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  return await findTemporalBinary({ path: process.env.PATH ?? '', cacheFolder: join(cache, 'longhaul') })
}
