import { once } from 'node:events'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type Death, SupervisedProcess } from '../servers/supervised-process.ts'
import { findTemporalBinary } from '../servers/temporal-binary.ts'
import { TemporalServer } from '../servers/temporal-server.ts'
import type { EngineAddress } from './engine-worker-options.ts'
import { type Environment, projectRoot } from './environment.ts'
import { connectClient, isTemporalConfigured, NoTemporal } from './temporal-connection.ts'

export interface AllWorkersOptions {
  taskQueue: string
  engines: EngineAddress[]
  /** Further arguments of the nth engine worker. */
  engineArguments: (n: number) => string[]
  /** Passed on to the control worker. */
  controlArguments: string[]
}

/** Every worker of one machine, each in a process of its own that is started again when it dies. */
export class AllWorkers {
  private constructor(
    private readonly processes: Map<string, SupervisedProcess>,
    readonly logFolder: string,
  ) {}

  static start(
    options: AllWorkersOptions,
    environment: Environment,
    env: NodeJS.ProcessEnv,
    onDeath: (death: Death) => void,
  ): AllWorkers {
    const logFolder = join(environment.home, 'logs')
    const start = (name: string, args: string[]) =>
      new SupervisedProcess({
        name,
        command: process.execPath,
        args: [join(projectRoot(), 'dist', 'cli', 'longhaul.js'), 'worker', ...args],
        env,
        logFile: join(logFolder, `${name.replaceAll(' ', '-')}.log`),
        onDeath,
      })
    const { taskQueue, engines } = options
    const processes = new Map<string, SupervisedProcess>()
    const add = (name: string, args: string[]) => processes.set(name, start(name, args))
    add('control worker', ['control', '--task-queue', taskQueue, ...options.controlArguments])
    add('data worker', ['data', '--task-queue', taskQueue])
    for (const [n, { queue, url }] of engines.entries()) {
      add(`engine worker ${queue}`, ['engine', '--queue', queue, '--url', url, ...options.engineArguments(n)])
    }
    return new AllWorkers(processes, logFolder)
  }

  process(name: string): SupervisedProcess {
    const found = this.processes.get(name)
    if (!found) throw new Error(`There is no ${name}.`)
    return found
  }

  /** Engine workers first, so that what they hand back is still heard. */
  async stop(): Promise<void> {
    const engines = [...this.processes.values()].filter(({ name }) => name.startsWith('engine'))
    const others = [...this.processes.values()].filter(({ name }) => !name.startsWith('engine'))
    await Promise.all(engines.map((engine) => engine.stop()))
    await Promise.all(others.map((other) => other.stop()))
  }
}

/** Runs all workers until SIGTERM or SIGINT, with a Temporal server of their own where none is configured or running. */
export async function runAllWorkers(
  options: AllWorkersOptions,
  environment: Environment,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<void> {
  const say = (death: Death) => log.warn(death, `${death.name} ended; it is started again in ${death.restartInMs} ms`)
  const server = await ensureTemporal(environment, log, say)
  const workers = AllWorkers.start(options, environment, env, say)
  log.info({ logs: workers.logFolder, engines: options.engines, ui: server?.uiUrl }, 'workers are up')
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  await workers.stop()
  await server?.stop()
}

async function ensureTemporal(
  environment: Environment,
  log: Logger,
  onDeath: (death: Death) => void,
): Promise<TemporalServer | undefined> {
  try {
    await (await connectClient()).connection.close()
    return undefined
  } catch (error) {
    if (!(error instanceof NoTemporal) || isTemporalConfigured()) throw error
  }
  const { path, cacheFolder, home } = environment
  return await TemporalServer.start({
    binary: await findTemporalBinary({ path, cacheFolder, onStep: (step) => log.info(step) }),
    databaseFile: join(home, 'temporal.db'),
    logFile: join(home, 'logs', 'temporal-server.log'),
    port: 7233,
    uiPort: 8233,
    onDeath,
  })
}
