import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { defaultTaskQueue, workflowIds } from '../domain/dispatch.ts'
import type { Death } from '../servers/supervised-process.ts'
import { createOpenStore } from '../store/open-store.ts'
import type { AllWorkers } from '../workers/all-workers.ts'
import { projectRoot } from '../workers/environment.ts'
import { LocalCluster } from '../workers/local-cluster.ts'
import { isTemporalConfigured, temporalConfig } from '../workers/temporal-connection.ts'
import { describeOutcome, followRun } from './demo-screen.ts'
import { SimulatedEngines } from './simulated-engines.ts'

const engineCount = 8
/** So much faster than the GPUs that are simulated. */
const speedUp = 40

export function demoCommand() {
  return new Command('demo')
    .description('Do a whole run on embedded parts: a local Temporal server, a file store, eight simulated engines.')
    .option('--keep', 'leave everything running afterwards, until Ctrl-C, to look around')
    .addHelpText('after', '\nExample:\n  npm run demo -- --keep')
    .action(async ({ keep }) => {
      const demo = new Demo(new Date())
      const interrupted = new Promise<'interrupted'>((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
          process.once(signal, () => resolve('interrupted'))
      })
      try {
        const ended = await Promise.race([demo.run(), interrupted])
        if (keep && ended !== 'interrupted') {
          say('\nEverything is left running to look around; Ctrl-C ends it.')
          await interrupted
        }
        if (ended === 'interrupted') process.exitCode = 1
      } finally {
        await demo.stop()
      }
      // The connection to Temporal is open still.
      process.exit()
    })
}

class Demo {
  readonly #run: string
  readonly #home: string
  readonly #parts: { stop(): Promise<void> }[] = []
  #isStopping = false
  #hasKilled = false

  constructor(now: Date) {
    this.#run = `demo-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}`
    this.#home = join(projectRoot(), '.longhaul', this.#run)
  }

  /** Sets everything up, does the run with a worker killed half way, and prints what came out. */
  async run(): Promise<void> {
    say(`Longhaul demo: run ${this.#run}, in ${this.#home}`)
    const engines = await this.#add(
      SimulatedEngines.start(['--engines', String(engineCount), '--port', '0', '--time-scale', String(1 / speedUp)]),
    )
    say(`${engineCount} simulated engines are up, ${speedUp} times faster than the GPUs that they stand for`)
    const cluster = await this.#add(this.#startCluster(engines.urls))
    const dataset = await this.#copyDataset()
    const spec = demoSpec(this.#run, dataset)
    const handle = await cluster.client.workflow.start('expandDataset', {
      taskQueue: defaultTaskQueue,
      workflowId: workflowIds.run(this.#run),
      args: [spec],
    })
    const store = createOpenStore()(cluster.environment.defaultStore)
    await followRun(store, this.#run, handle.result(), (share) => share >= 0.5 && this.#killOnce(cluster.workers))
    const { address, temporal } = cluster
    say(await describeOutcome(store, this.#run, { home: this.#home, dataset, spec, address, ui: temporal?.uiUrl }))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const part of this.#parts.reverse()) await part.stop()
  }

  /** What a crash does, only on purpose. */
  #killOnce(workers: AllWorkers): void {
    if (this.#hasKilled) return
    this.#hasKilled = true
    const victim = workers.process('engine worker gpu-3')
    say(`\nHalf way: killing the worker of engine gpu-3 (process ${victim.pid}) with SIGKILL`)
    victim.signal('SIGKILL')
  }

  async #startCluster(urls: string[]): Promise<LocalCluster> {
    const timings = 'recheckMs=200,lostAfterMs=4000,stallMs=8000,controlMs=500,rampMs=200,liveMs=700,checkpointMs=2000'
    const cluster = await LocalCluster.start({
      home: this.#home,
      urls,
      taskQueue: defaultTaskQueue,
      engineArguments: () => ['--grace-seconds', '1', '--min-free-mib', '64', '--timings', timings],
      controlArguments: ['--progress-seconds', '0.5'],
      ports: { server: 7233, ui: 8233 },
      ...(isTemporalConfigured() && { temporalAddress: temporalConfig().address }),
      onStep: say,
      onDeath: this.#onDeath,
    })
    if (cluster.temporal) say(`Temporal server at ${cluster.address}, its UI at ${cluster.temporal.uiUrl}`)
    return cluster
  }

  async #copyDataset(): Promise<string> {
    const folder = join(this.#home, 'dataset')
    await cp(join(projectRoot(), 'demo', 'dataset'), folder, { recursive: true })
    return folder
  }

  async #add<Part extends { stop(): Promise<void> }>(starting: Promise<Part>): Promise<Part> {
    const part = await starting
    if (this.#isStopping) await part.stop()
    this.#parts.push(part)
    return part
  }

  readonly #onDeath = ({ name, code, signal, restartInMs }: Death): void => {
    if (!this.#isStopping) say(`${name} ended (${signal ?? `exit code ${code}`}); started again in ${restartInMs} ms`)
  }
}

function demoSpec(run: string, dataset: string) {
  const sources = ['chats', 'shared', 'instructions'].map((name) =>
    join(projectRoot(), 'demo', 'sources', `${name}.jsonl`),
  )
  return {
    run,
    sources,
    engines: engineCount,
    shardSize: 100,
    sampling: { maxNewTokens: 4096 },
    dataset: { uri: `file://${dataset}` },
    timings: { heartbeatSeconds: 3, scheduleToStartSeconds: 5, probeSeconds: [0.5, 1, 2] },
  }
}

export type DemoSpec = ReturnType<typeof demoSpec>

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
