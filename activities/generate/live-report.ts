import type { EngineLive, ShardLive } from '../../domain/live.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { putJson } from '../../store/put-json.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore, OpenStore } from '../../store/store.ts'
import type { EngineRuntime } from './engine-runtime.ts'

interface ReportedRun {
  store: ObjectStore
  /** Reads how the run's shards on this engine stand, until they are committed or given up here. */
  shards: Map<number, () => ShardLive>
}

export interface LiveReportOptions {
  runtime: EngineRuntime
  openStore: OpenStore
  everyMs: number
  now: () => number
  log: (message: string, facts?: Record<string, unknown>) => void
}

/**
 * Writes what happens on an engine to `live/<engine>.json` of each run that it works for: the source of `progress.json` and
 * of `longhaul status` between two commits. What an earlier process of this engine wrote is kept until it is outdated.
 */
export class LiveReport {
  readonly #runs = new Map<string, Promise<ReportedRun>>()
  readonly #timer: NodeJS.Timeout
  #writing: Promise<void> = Promise.resolve()

  constructor(private readonly options: LiveReportOptions) {
    this.#timer = setInterval(() => void this.write(), options.everyMs)
    this.#timer.unref()
  }

  /** A shard is on the engine from now on; `read` is called whenever a report is written. */
  async follow(run: string, storeUri: string, shard: number, read: () => ShardLive): Promise<void> {
    const reported = await this.#reportedRun(run, storeUri)
    reported.shards.set(shard, read)
  }

  /** A shard has been committed or given up here. */
  async forget(run: string, storeUri: string, shard: number): Promise<void> {
    const reported = await this.#reportedRun(run, storeUri)
    reported.shards.delete(shard)
  }

  /** Writes now. A store that is out of reach only makes the report late. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      for (const [run, reported] of this.#runs) {
        try {
          const { store, shards } = await reported
          await putJson(store, runKeys(run).live(this.options.runtime.queue), this.#report(shards))
        } catch (error) {
          this.options.log('live report not written', { run, error: String(error) })
        }
      }
    })
    return this.#writing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.write()
  }

  #report(shards: ReportedRun['shards']): EngineLive {
    const { runtime, now } = this.options
    return {
      engine: runtime.queue,
      at: new Date(now()).toISOString(),
      state: runtime.gate.state,
      why: runtime.idleBecause ?? '',
      permits: runtime.permits.limit,
      inFlight: runtime.permits.inUse,
      ...(runtime.load && { load: { running: runtime.load.running, waiting: runtime.load.waiting } }),
      shards: [...shards.values()].map((read) => read()),
    }
  }

  #reportedRun(run: string, storeUri: string): Promise<ReportedRun> {
    const known = this.#runs.get(run)
    if (known !== undefined) return known
    const opened = this.#openRun(run, storeUri)
    this.#runs.set(run, opened)
    opened.catch(() => this.#runs.delete(run))
    return opened
  }

  async #openRun(run: string, storeUri: string): Promise<ReportedRun> {
    const store = this.options.openStore(storeUri)
    const key = runKeys(run).live(this.options.runtime.queue)
    const earlier = (await store.head(key)) ? await readJson<EngineLive>(store, key) : undefined
    return { store, shards: new Map((earlier?.shards ?? []).map((shard) => [shard.shard, () => shard])) }
  }
}
