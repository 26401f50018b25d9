import { readFile } from 'node:fs/promises'
import { Context, heartbeat } from '@temporalio/activity'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker'
import type { GeneratedShard } from '../../activities/generate/generate-activities.ts'
import { dataQueueOf, type ShardDispatch, type ShardTotals, sideQueue, signals } from '../../domain/dispatch.ts'
import type { ProbeResult } from '../../domain/engine-pool.ts'
import { rangesOf } from '../../domain/shard-ranges.ts'
import { workflowBundlePath } from '../../workers/environment.ts'

Runtime.install({ logger: new DefaultLogger('ERROR') })

/** How a fake engine treats a dispatch; returns what is left of the shard. */
export type Treat = (dispatch: ShardDispatch) => Promise<Partial<GeneratedShard> | undefined>

export const identity = { model: 'fake', weightVersion: 'default' }

/** Activities without engines, stores or disks: only what the workflows see of them. Served in this process. */
export class FakeEngines {
  readonly committed = new Set<number>()
  /** Every dispatch that reached an engine, in order. */
  readonly dispatches: ShardDispatch[] = []
  readonly sealed: number[] = []
  readonly released: string[] = []
  readonly kept: number[] = []
  readonly concurrency: (number | undefined)[] = []
  readonly statuses: string[] = []
  treat: Treat = async () => undefined
  probe: (queue: string) => Promise<ProbeResult> = async () => ({
    answered: true,
    accepting: true,
    healthy: true,
    identity,
  })
  readonly #workers = new Map<string, { worker: Worker; ended: Promise<void> }>()

  private constructor(
    readonly shards: number,
    readonly taskQueue: string,
    readonly client: Client,
    private readonly connection: NativeConnection,
  ) {}

  static async start(
    address: string,
    options: { shards: number; taskQueue: string; queues: string[] },
  ): Promise<FakeEngines> {
    const connection = await NativeConnection.connect({ address })
    const client = new Client({ connection: await Connection.connect({ address }) })
    const fakes = new FakeEngines(options.shards, options.taskQueue, client, connection)
    await fakes.#serve(options.taskQueue, fakes.#runActivities(), { workflowBundle: await bundle() })
    await fakes.#serve(dataQueueOf(options.taskQueue), { sealShard: fakes.#seal })
    for (const queue of options.queues) await fakes.addEngine(queue)
    return fakes
  }

  async addEngine(queue: string): Promise<void> {
    await this.#serve(queue, { generateShard: this.#generate })
    await this.#serve(sideQueue(queue), {
      uploadShard: this.#upload,
      probeEngine: () => this.probe(queue),
      releaseShards: async () => void this.released.push(queue),
      keepSamples: async ({ shard }: { shard: number }) => void this.kept.push(shard),
      setConcurrency: async ({ concurrency }: { concurrency?: number }) => void this.concurrency.push(concurrency),
    })
  }

  /** The engine's worker is gone; nothing polls its queues any more. */
  async removeEngine(queue: string): Promise<void> {
    for (const name of [queue, sideQueue(queue)]) await this.#end(name)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((name) => this.#end(name)))
    await this.client.connection.close()
    await this.connection.close()
  }

  #generate = async (dispatch: ShardDispatch): Promise<GeneratedShard> => {
    this.dispatches.push(dispatch)
    const beat = setInterval(() => heartbeat(), 100)
    try {
      const left = await this.treat(dispatch)
      return { unstarted: 0, deferred: 0, isLeaving: false, ...left }
    } finally {
      clearInterval(beat)
    }
  }

  /** Tells the scheduler that all prompts of a shard have been started. */
  async tellExhausted({ scheduler, shard, epoch }: ShardDispatch): Promise<void> {
    await this.client.workflow.getHandle(scheduler).signal(signals.shardExhausted, { shard, epoch })
  }

  #upload = async ({ shard }: ShardDispatch): Promise<ShardTotals> => {
    this.committed.add(shard)
    return { samples: 1, failures: 0, inputTokens: 1, outputTokens: 1 }
  }

  #seal = async ({ shard }: { shard: number }): Promise<void> => {
    this.sealed.push(shard)
    this.committed.add(shard)
  }

  #runActivities() {
    return {
      readRunState: async () => ({ shards: this.shards, done: rangesOf(this.committed) }),
      findLostShards: async ({ run, shards }: { run: string; shards: number[] }) => {
        const lost: number[] = []
        for (const shard of shards) {
          const name = `run-${run}/shard-${String(shard).padStart(5, '0')}`
          const { status } = await this.client.workflow.getHandle(name).describe()
          if (status.name !== 'RUNNING') lost.push(shard)
        }
        return lost
      },
      keepProgress: async ({ status }: { status: string }) => {
        this.statuses.push(status)
        const beat = setInterval(() => heartbeat(), 100)
        await Context.current().cancelled.finally(() => clearInterval(beat))
      },
    }
  }

  async #serve(
    taskQueue: string,
    activities: object,
    options: { workflowBundle?: WorkflowBundleWithSourceMap | { code: string } } = {},
  ): Promise<void> {
    const worker = await Worker.create({
      connection: this.connection,
      taskQueue,
      activities,
      maxHeartbeatThrottleInterval: '100ms',
      ...(options.workflowBundle && { workflowBundle: options.workflowBundle }),
    })
    this.#workers.set(taskQueue, { worker, ended: worker.run() })
  }

  async #end(name: string): Promise<void> {
    const served = this.#workers.get(name)
    if (!served) return
    this.#workers.delete(name)
    served.worker.shutdown()
    await served.ended
  }
}

async function bundle(): Promise<{ code: string }> {
  return { code: await readFile(workflowBundlePath(), 'utf8') }
}
