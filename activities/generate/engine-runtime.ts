import { type EngineIdentity, identityDifference } from '../../domain/engine-identity.ts'
import type { ProbeResult } from '../../domain/engine-pool.ts'
import type { Spec } from '../../domain/spec.ts'
import {
  AttemptFailed,
  type EngineClient,
  type EngineDescription,
  type EngineLoad,
} from '../../sglang/engine-client.ts'
import { NoReply } from '../../sglang/http.ts'
import type { InFlight } from '../../sglang/in-flight.ts'
import type { AskedEngine } from './complete-prompt.ts'
import { type Condition, EngineGate } from './engine-gate.ts'
import type { EngineTimings } from './engine-timings.ts'
import { adaptedPermits, assumedMaxRunning, permitsFor, rampedPermits } from './permit-control.ts'
import { Permits } from './permits.ts'
import type { ScratchGuard } from './scratch-guard.ts'
import type { ShardRunner } from './shard-runner.ts'

export interface EngineRuntimeOptions {
  /** Task queue of the engine. */
  queue: string
  /** Which API the client speaks; a run that wants the other is refused. */
  mode: Spec['mode']
  client: EngineClient
  timings: EngineTimings
  scratch: ScratchGuard
  /** The server's process, where the worker runs it as well. */
  server?: SupervisedServer
  /** Shards that it takes at a time, of all runs together; beyond it the engine is busy. */
  places: number
  /** Requests in flight; left out: what the engine says of itself, plus headroom. */
  concurrency?: number
  now: () => number
  log: (message: string, facts?: Record<string, unknown>) => void
}

/** What the runtime needs of the process of its server. */
export interface SupervisedServer {
  /** How it stands, for people. */
  readonly status: string
  isWell(): void
  restart(why: string): Promise<void>
}

/** A shard that is on the engine right now. */
export interface ActiveShard {
  run: string
  shard: number
  epoch: number
  runner: ShardRunner
  inFlight: InFlight
}

/** One engine as its worker sees it: whether it is well, how much may be asked of it, and which shards are on it. */
export class EngineRuntime {
  readonly permits = new Permits(0)
  readonly gate: EngineGate
  readonly shards = new Set<ActiveShard>()
  #description: EngineDescription | undefined
  #load: EngineLoad | undefined
  #concurrency: number | undefined
  #limit = 0
  #isLeaving = false
  #openedAt = 0
  /** What changes as tokens advance, and when it last did. */
  #mark = ''
  #advancedAt = 0
  #timer: NodeJS.Timeout

  constructor(private readonly options: EngineRuntimeOptions) {
    const { now, timings, log, queue } = options
    this.#concurrency = options.concurrency
    this.gate = new EngineGate({
      look: () => this.#look(),
      recheckMs: timings.recheckMs,
      lostAfterMs: timings.lostAfterMs,
      now,
      onOpen: () => this.#onOpen(),
      onShut: (why) => {
        log('engine parked', { engine: queue, why })
        this.#shutOrOpen()
      },
    })
    this.#shutOrOpen()
    this.#timer = setInterval(() => void this.#control(), timings.controlMs)
    this.#timer.unref()
  }

  get queue(): string {
    return this.options.queue
  }

  get mode(): Spec['mode'] {
    return this.options.mode
  }

  get load(): EngineLoad | undefined {
    return this.#load
  }

  get description(): EngineDescription | undefined {
    return this.#description
  }

  /** What the scheduler asks before it sends work. */
  async probe(): Promise<ProbeResult> {
    const condition = await this.gate.look()
    if (!condition.isWell && condition.refusal)
      return { answered: true, accepting: false, healthy: false, refusal: condition.why }
    if (!condition.isWell) return { answered: true, accepting: false, healthy: false, why: condition.why }
    const { model, weightVersion } = this.#described()
    const { scratch, places } = this.options
    const busy = {
      ...(this.shards.size >= places && { why: 'all its places are taken' }),
      ...(scratch.isLow && { why: scratch.why }),
    }
    return { answered: true, accepting: !('why' in busy), healthy: true, identity: { model, weightVersion }, ...busy }
  }

  /** The engine as prompts of a run see it. Throws when it serves something else than the run's engines. */
  asked(): AskedEngine {
    const { model, weightVersion } = this.#described()
    return {
      queue: this.queue,
      model,
      weightVersion,
      client: this.options.client,
      park: (why) => this.gate.park(why),
      isWell: () => this.gate.isOpen,
      whenWell: () => this.gate.whenWell(),
    }
  }

  get identity(): EngineIdentity | undefined {
    return this.#description && { model: this.#description.model, weightVersion: this.#description.weightVersion }
  }

  /** Why nothing new is started, for people; undefined while something may be. */
  get idleBecause(): string | undefined {
    if (!this.gate.isOpen) return this.gate.why
    return this.options.scratch.isLow ? this.options.scratch.why : undefined
  }

  /** Sets how many requests may be in flight; undefined: what the engine says, plus headroom. */
  setConcurrency(concurrency: number | undefined): void {
    this.#concurrency = concurrency
    this.#limit = this.#mostPermits()
    this.permits.setLimit(this.#limit)
  }

  /** Hands back the unstarted prompts of a run's shards, or of one of them. */
  release(run: string, shard?: number): void {
    for (const active of this.shards) {
      if (active.run === run && (shard === undefined || active.shard === shard)) active.runner.release()
    }
  }

  /** The worker is about to end: nothing new is started, and shards are handed back. */
  leave(): void {
    this.#isLeaving = true
    for (const active of this.shards) active.runner.release()
  }

  get isLeaving(): boolean {
    return this.#isLeaving
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.gate.close()
    await this.options.client.close()
  }

  #described(): EngineDescription {
    if (!this.#description) throw new Error(`${this.queue} has not been looked at yet`)
    return this.#description
  }

  async #look(): Promise<Condition> {
    const { client, log, queue } = this.options
    try {
      if (!(await client.isHealthy())) return { isWell: false, why: this.#withStatus('its health check fails') }
      const description = await client.describe()
      const difference = this.shards.size > 0 && this.#description && identityDifference(description, this.#description)
      if (difference) return { isWell: false, why: difference, refusal: true }
      if (!this.#description) for (const warning of description.warnings) log(warning, { engine: queue })
      this.#description = description
      return { isWell: true }
    } catch (error) {
      if (error instanceof NoReply) return { isWell: false, why: this.#withStatus(error.message) }
      if (error instanceof AttemptFailed) {
        const refusal = [401, 403, 404, 405].includes(error.symptom.status ?? 0)
        return { isWell: false, why: error.symptom.said, refusal }
      }
      throw error
    }
  }

  #withStatus(why: string): string {
    const { server } = this.options
    return server ? `${why} (${server.status})` : why
  }

  #onOpen(): void {
    const { now, log, queue, server } = this.options
    server?.isWell()
    this.#openedAt = now()
    this.#advancedAt = now()
    this.#limit = this.#mostPermits()
    log('engine is well', { engine: queue, permits: this.#limit, model: this.#description?.model })
    this.#ramp()
    this.#shutOrOpen()
  }

  /** Fills the engine in steps: a burst of long prompts at once would only stall all of them. */
  #ramp(): void {
    const { rampMs } = this.options.timings
    this.#applyLimit()
    for (const part of [0.25, 0.5, 0.75, 1]) setTimeout(() => this.#applyLimit(), part * rampMs).unref()
  }

  #mostPermits(): number {
    return this.#concurrency ?? permitsFor(this.#description?.maxRunning ?? assumedMaxRunning)
  }

  #applyLimit(): void {
    const sinceOpenMs = this.options.now() - this.#openedAt
    this.permits.setLimit(rampedPermits(this.#limit, sinceOpenMs, this.options.timings.rampMs))
  }

  /** Reads the load, adapts the permits, and looks whether tokens advance. */
  async #control(): Promise<void> {
    await this.#guardScratch()
    if (!this.gate.isOpen) return
    const load = await this.#readLoad()
    this.#load = load
    if (load && this.#concurrency === undefined) {
      this.#limit = adaptedPermits(this.#limit, this.#description?.maxRunning ?? assumedMaxRunning, load)
    }
    this.#applyLimit()
    this.#watch(load)
  }

  async #guardScratch(): Promise<void> {
    const { scratch, log, queue } = this.options
    const wasLow = scratch.isLow
    await scratch.look()
    if (scratch.isLow === wasLow) return
    log(scratch.isLow ? scratch.why : 'the scratch disk has room again', { engine: queue })
    this.#shutOrOpen()
  }

  #shutOrOpen(): void {
    this.permits.setShut(!this.gate.isOpen || this.options.scratch.isLow)
  }

  async #readLoad(): Promise<EngineLoad | undefined> {
    try {
      return await this.options.client.load()
    } catch {
      // A hung scheduler does not answer: the watchdog sees that no token advances.
      return undefined
    }
  }

  /** Liveness is tokens advancing, not `/health`: a hung engine may well answer that. */
  #watch(load: EngineLoad | undefined): void {
    const { now, timings, server } = this.options
    const mark = `${this.#finishedPrompts()} ${load?.tokenMark}`
    if (this.permits.inUse === 0 || mark !== this.#mark) this.#advancedAt = now()
    this.#mark = mark
    const stalledMs = now() - this.#advancedAt
    if (stalledMs < timings.stallMs) return
    const why = `no token for ${Math.round(stalledMs / 1000)} s with ${this.permits.inUse} requests in flight`
    this.gate.park(why)
    // It takes requests and answers none: those in flight are asked again when it is well, or elsewhere.
    for (const active of this.shards) active.inFlight.giveUpAll()
    void server?.restart(why)
  }

  #finishedPrompts(): number {
    let finished = 0
    for (const { runner } of this.shards)
      finished += runner.counts.samples + runner.counts.failures + runner.counts.deferred
    return finished
  }
}
