import type { RequestHooks } from '../faults/hooks.ts'
import type { ResolvedOptions } from '../options.ts'
import { PrefixCache } from '../scheduling/prefix-cache.ts'
import { Scheduler } from '../scheduling/scheduler.ts'
import { slowed } from '../scheduling/service-model.ts'
import { SimulatedClock } from '../scheduling/simulated-clock.ts'
import { AnswerWriter } from '../text/answer.ts'
import { Refused } from './errors.ts'
import { Generation } from './generation.ts'
import { effectiveLimit, planAnswer } from './planning.ts'
import type { Sampling } from './sampling.ts'

/** Counts since the engine started; a crash sets them back to nothing. */
export interface EngineCounters {
  /** Requests that ended with every token they were to have. */
  completed: number
  aborted: number
  promptTokens: number
  /** Output tokens of requests that ended, however they ended. */
  completionTokens: number
  cachedTokens: number
}

export interface GenerationRequest {
  rid: string
  promptIds: readonly number[]
  sampling: Sampling
  /** A fault's way to change what is written. */
  replan?: RequestHooks['plan']
  /** Called as tokens are written; streams need it. */
  onTokens?: (generation: Generation, tokens: number) => void
  onEnd: (generation: Generation) => void
}

/** What stands behind the HTTP server: requests, the scheduler and its clock. */
export class Engine {
  readonly scheduler: Scheduler
  readonly clock: SimulatedClock
  readonly writer: AnswerWriter
  readonly cache: PrefixCache
  readonly counters: EngineCounters = {
    completed: 0,
    aborted: 0,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
  }
  readonly startedMs = Date.now()
  /** `/health` says 503 while the engine warms up and while it drains. */
  isHealthy = true
  /**
   * `scheduler`: nothing moves, and whatever asks the scheduler waits with it. `outside`: it spins between two batches, so that
   * only what is new stands still.
   */
  hang: 'none' | 'scheduler' | 'outside' = 'none'
  hungSinceMs: number | undefined
  readonly #waiters: (() => void)[] = []
  readonly #speed = { factor: 1, sleepMs: 0 }
  /** Requests that SGLang still has state of. */
  readonly #inFlight = new Map<string, Generation>()
  /** Ids of requests that were refused after their state had been made, and whose state stays for ever. */
  readonly #leakedRids = new Set<string>()
  readonly #streams = new Map<Generation, (generation: Generation, tokens: number) => void>()

  constructor(readonly options: ResolvedOptions) {
    this.writer = new AnswerWriter(options.tokenizer)
    this.cache = new PrefixCache(options.cachePageTokens, options.cachePages)
    this.scheduler = new Scheduler(options.serviceModel, {
      maxRunning: options.cap,
      maxQueued: options.maxQueued,
      kvTokens: options.kvTokens,
    })
    this.clock = new SimulatedClock(this.scheduler, options.timeScale)
    this.clock.onTick = () => this.#feedStreams()
  }

  /** Told of every request that is given up before its end. */
  onAborted: () => void = () => {}

  /** Whether any request's state is left, which is what a shutdown waits for. */
  get isDrained(): boolean {
    return this.#inFlight.size === 0 && this.#leakedRids.size === 0
  }

  get inFlight(): ReadonlyMap<string, Generation> {
    return this.#inFlight
  }

  /** Throws `Refused` for a request id that is in use. */
  refuseDuplicate(rid: string): void {
    if (this.#inFlight.has(rid) || this.#leakedRids.has(rid)) {
      throw new Refused(`Duplicate request ID detected: ${rid}`)
    }
  }

  /** Up to 0.5.13 the id of a refused request stays taken. */
  leak(rid: string): void {
    if (this.options.compat === '0.5.12') this.holdForEver(rid)
  }

  /** A request id whose state nothing will ever free. */
  holdForEver(rid: string): void {
    this.#leakedRids.add(rid)
  }

  generate({ rid, promptIds, sampling, replan, onTokens, onEnd }: GenerationRequest): Generation {
    this.refuseDuplicate(rid)
    const limit = effectiveLimit(promptIds.length, sampling.maxNewTokens, this.options)
    const usual = planAnswer(promptIds, sampling, limit, this.options, this.writer)
    const plan = replan ? replan(usual, { sampling, limit, writer: this.writer }) : usual
    const cached = this.cache.claim(promptIds)
    const generation = new Generation(rid, promptIds, cached, sampling, plan, this.writer, (ended) => {
      this.#count(ended)
      this.#inFlight.delete(rid)
      this.#streams.delete(ended)
      onEnd(ended)
    })
    this.#inFlight.set(rid, generation)
    if (onTokens) this.#streams.set(generation, onTokens)
    this.clock.submit(generation.job)
    return generation
  }

  /** Gives up every request whose id begins so: SGLang compares beginnings. */
  abort(ridPrefix: string): void {
    for (const [rid, { job }] of this.#inFlight) {
      if (!rid.startsWith(ridPrefix)) continue
      // Up to 0.5.12 the id of a request that is given up in the queue stays taken.
      if (job.state === 'waiting') this.leak(rid)
      this.clock.abort(job)
      this.onAborted()
    }
  }

  /** Makes everything take `factor` times as long, and each forward pass so much more. */
  setSpeed(speed: { factor?: number; sleepMs?: number }): void {
    Object.assign(this.#speed, speed)
    this.clock.changeModel(slowed(this.options.serviceModel, this.#speed.factor, this.#speed.sleepMs))
  }

  /** Nothing moves any more; see `hang`. */
  hangUp(where: 'scheduler' | 'outside'): void {
    this.hang = where
    this.hungSinceMs = Date.now()
    this.pause()
  }

  recover(): void {
    this.hang = 'none'
    this.hungSinceMs = undefined
    this.resume()
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  /** Resolves when the scheduler answers, which it does not while it hangs. */
  whenResponsive(): Promise<void> {
    if (this.hang !== 'scheduler') return Promise.resolve()
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  pause(): void {
    this.clock.wake()
    this.clock.pause()
  }

  resume(): void {
    this.clock.resume()
  }

  tokensWritten(generation: Generation): number {
    return generation.job.writtenAt(this.scheduler.stepAt(this.clock.nowMs()))
  }

  /** Output tokens so far, those of unfinished requests among them. */
  generatedTokens(): number {
    const step = this.scheduler.stepAt(this.clock.nowMs())
    let tokens = this.counters.completionTokens
    for (const { job } of this.#inFlight.values()) tokens += job.writtenAt(step)
    return tokens
  }

  /** The end of the process that it stands for: clients that leave because of it find nothing to give up any more. */
  stop(): void {
    this.clock.stop()
    this.#inFlight.clear()
    this.#streams.clear()
  }

  #feedStreams(): boolean {
    for (const [generation, onTokens] of this.#streams) onTokens(generation, this.tokensWritten(generation))
    return this.#streams.size > 0
  }

  #count({ job, promptTokens, cachedTokens }: Generation): void {
    if (job.ending === 'done') this.counters.completed++
    else this.counters.aborted++
    this.counters.promptTokens += promptTokens
    this.counters.cachedTokens += cachedTokens
    this.counters.completionTokens += job.written
  }
}
