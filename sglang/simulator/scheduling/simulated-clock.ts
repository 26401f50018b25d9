import type { Job } from './job.ts'
import type { Scheduler } from './scheduler.ts'
import type { ServiceModel } from './service-model.ts'

/** Streams look for new tokens no more often than this (real ms). */
const shortestTickMs = 4

/** Node's timers take no longer ones. */
const longestTimerMs = 2 ** 31 - 1

/**
 * Drives a scheduler by real time. Simulated time is always computed from real time, never counted up by timers, so a timer
 * that fires late delays what clients hear and nothing else: throughput is the service model's at any time scale.
 */
export class SimulatedClock {
  /** Real time at which simulated time was `#baseMs`. */
  #realBaseMs = performance.now()
  #baseMs = 0
  #isPaused = false
  #isStopped = false
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  /** Called with each tick while it returns true: somebody wants tokens as they come. */
  onTick: () => boolean = () => false

  constructor(
    readonly scheduler: Scheduler,
    readonly timeScale: number,
  ) {}

  /** Simulated milliseconds since the start. */
  nowMs(): number {
    if (this.timeScale === 0 || this.#isPaused) return Math.max(this.#baseMs, this.scheduler.nowMs)
    return this.#baseMs + (performance.now() - this.#realBaseMs) / this.timeScale
  }

  submit(job: Job): void {
    this.#deliver(this.scheduler.submit(job, this.nowMs()))
    this.#arm()
  }

  abort(job: Job): void {
    this.#deliver(this.scheduler.abort(job, this.nowMs()))
    this.#arm()
  }

  changeModel(model: ServiceModel): void {
    this.#deliver(this.scheduler.changeModel(model, this.nowMs()))
    this.#arm()
  }

  retract(count: number): void {
    this.#deliver(this.scheduler.retract(count, this.nowMs()))
    this.#arm()
  }

  /** Lets the step under way end before its time; for requests that were just given up. */
  finishStep(): void {
    if (this.#isPaused) return
    const nextMs = this.scheduler.nextEventMs()
    if (nextMs !== Number.POSITIVE_INFINITY) this.#deliver(this.scheduler.advanceTo(Math.max(nextMs, this.nowMs())))
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Simulated time stands still. */
  pause(): void {
    if (this.#isPaused) return
    this.wake()
    this.#baseMs = this.nowMs()
    this.#isPaused = true
    this.#disarm()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#realBaseMs = performance.now()
    this.#arm()
  }

  /** Lets happen what is due. */
  wake(): void {
    if (this.#isPaused) return
    this.#deliver(this.scheduler.advanceTo(this.timeScale === 0 ? Number.POSITIVE_INFINITY : this.nowMs()))
  }

  /** For good: an engine that died does nothing any more, whoever still calls it. */
  stop(): void {
    this.#isStopped = true
    this.#disarm()
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
    this.#timer = undefined
    this.#immediate = undefined
  }

  #deliver(ended: Job[]): void {
    for (const job of ended) job.onEnd(job)
  }

  #arm(): void {
    this.#disarm()
    const nextMs = this.scheduler.nextEventMs()
    if (this.#isPaused || this.#isStopped || nextMs === Number.POSITIVE_INFINITY) return
    if (this.timeScale === 0) {
      this.#immediate = setImmediate(() => this.#fire())
      return
    }
    const delayMs = Math.min(Math.ceil((nextMs - this.nowMs()) * this.timeScale), longestTimerMs)
    const wantsTicks = this.onTick()
    this.#timer = setTimeout(() => this.#fire(), Math.max(1, wantsTicks ? Math.min(delayMs, this.#tickMs()) : delayMs))
  }

  #fire(): void {
    this.wake()
    this.#arm()
  }

  /** As long as a token takes. */
  #tickMs(): number {
    const perSecond = this.scheduler.tokensPerSecond(this.nowMs())
    if (perSecond === 0) return shortestTickMs
    return Math.max(shortestTickMs, ((1000 * this.scheduler.running.length) / perSecond) * this.timeScale)
  }
}
