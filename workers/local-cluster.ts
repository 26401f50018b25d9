import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import type { Death } from '../servers/supervised-process.ts'
import { findTemporalBinary } from '../servers/temporal-binary.ts'
import { TemporalServer } from '../servers/temporal-server.ts'
import { AllWorkers, type AllWorkersOptions } from './all-workers.ts'
import { type Environment, readEnvironment } from './environment.ts'

export interface LocalClusterOptions extends Omit<AllWorkersOptions, 'engines'> {
  /** Folder for everything that the cluster writes. */
  home: string
  /** Further variables for the workers, such as the store's. */
  env?: NodeJS.ProcessEnv
  /** URLs of the engines; they get the queues `gpu-0`, `gpu-1` and so on. */
  urls: string[]
  /** A Temporal server that is there already; left out: one of the cluster's own. */
  temporalAddress?: string
  /** Ports that are wanted for it; others are taken when they are busy. */
  ports?: { server: number; ui: number }
  dynamicConfig?: Record<string, unknown>
  onStep?: (step: string) => void
  onDeath?: (death: Death) => void
}

/** Everything that a run needs but engines, as processes on this machine: Temporal and all workers. */
export class LocalCluster {
  private constructor(
    readonly environment: Environment,
    readonly temporal: TemporalServer | undefined,
    readonly address: string,
    readonly workers: AllWorkers,
    readonly client: Client,
  ) {}

  static async start(options: LocalClusterOptions): Promise<LocalCluster> {
    await mkdir(options.home, { recursive: true })
    const base = {
      ...process.env,
      LONGHAUL_HOME: options.home,
      LONGHAUL_STORE: `file://${join(options.home, 'store')}`,
      ...options.env,
    }
    const temporal = options.temporalAddress ? undefined : await startTemporal(options, readEnvironment(base))
    const address = temporal?.address ?? options.temporalAddress ?? ''
    const env = { ...base, TEMPORAL_ADDRESS: address }
    const environment = readEnvironment(env)
    const engines = options.urls.map((url, n) => ({ queue: `gpu-${n}`, url }))
    const workers = AllWorkers.start({ ...options, engines }, environment, env, options.onDeath ?? (() => {}))
    const client = new Client({ connection: await Connection.connect({ address }) })
    return new LocalCluster(environment, temporal, address, workers, client)
  }

  /**
   * Ends every process. The client's connection stays open: a call that is waiting to be tried again when it closes would end
   * this process with an error that nobody can catch.
   */
  async stop(): Promise<void> {
    await this.workers.stop()
    await this.temporal?.stop()
  }
}

async function startTemporal(
  options: LocalClusterOptions,
  { path, cacheFolder, home }: Environment,
): Promise<TemporalServer> {
  const { ports, dynamicConfig, onStep, onDeath } = options
  return await TemporalServer.start({
    binary: await findTemporalBinary({ path, cacheFolder, ...(onStep && { onStep }) }),
    databaseFile: join(home, 'temporal.db'),
    logFile: join(home, 'logs', 'temporal-server.log'),
    ...(ports && { port: ports.server, uiPort: ports.ui }),
    ...(dynamicConfig && { dynamicConfig }),
    ...(onDeath && { onDeath }),
  })
}
