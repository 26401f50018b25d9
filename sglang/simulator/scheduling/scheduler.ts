import type { Ending, Job } from './job.ts'
import { maxPrefillTokens, prefillMs, type ServiceModel, stepMs, stepsMs, stepsWithin } from './service-model.ts'

export interface SchedulerLimits {
  /** Requests that run at a time. */
  maxRunning: number
  /** Requests that wait at most; more are turned away. */
  maxQueued: number
  /** Tokens of context that all running requests have room for. */
  kvTokens: number
}

/** Steps for which a retraction makes room at once, so that the next step does not retract again. */
const retractedAheadSteps = 20
/** Memory is reserved for this share of what a request may still write, less the longer nothing had to be retracted. */
const reserve = { first: 0.7, last: 0.098, overSteps: 600, perRequestTokens: 4_096 }

type Phase =
  | { kind: 'idle' }
  | { kind: 'prefill'; jobs: Job[]; endMs: number }
  | { kind: 'decode'; startMs: number; startStep: number; steps: number; contextTokens: number }

/**
 * First come, first served; a prefill goes before decoding and stalls it; a decode step gives each running request one
 * token. Time jumps from event to event: nothing is done per token. All times are simulated milliseconds, and the scheduler
 * never asks a clock: what it is told late, it still dates right.
 */
export class Scheduler {
  readonly waiting: Job[] = []
  /** Decode steps done so far. */
  step = 0
  /** Retractions so far. */
  retractedRequests = 0
  #running: Job[] = []
  #phase: Phase = { kind: 'idle' }
  #nowMs = 0
  #quietSteps = 0
  #model: ServiceModel
  #ended: Job[] = []

  constructor(
    model: ServiceModel,
    readonly limits: SchedulerLimits,
  ) {
    this.#model = model
  }

  /** Time of the last event that was worked off. */
  get nowMs(): number {
    return this.#nowMs
  }

  get running(): readonly Job[] {
    return this.#running
  }

  get prefilling(): readonly Job[] {
    return this.#phase.kind === 'prefill' ? this.#phase.jobs : []
  }

  get isIdle(): boolean {
    return this.waiting.length === 0 && this.#running.length === 0 && this.#phase.kind === 'idle'
  }

  /** Time of the next event; Infinity when nothing is to be done. */
  nextEventMs(): number {
    const phase = this.#phase
    if (phase.kind === 'idle') return Number.POSITIVE_INFINITY
    return phase.kind === 'prefill' ? phase.endMs : this.#endOf(phase)
  }

  /** A request arrives. Returns what ended until then. */
  submit(job: Job, atMs: number): Job[] {
    this.#workUntil(atMs)
    job.submittedMs = atMs
    this.#enqueue(job)
    this.#rethink(atMs)
    return this.#takeEnded()
  }

  /** A request is to be given up: at once where it waits, else after the step that is under way. */
  abort(job: Job, atMs: number): Job[] {
    this.#workUntil(atMs)
    if (job.state === 'waiting') {
      const at = this.waiting.indexOf(job)
      if (at >= 0) this.waiting.splice(at, 1)
      this.#end(job, 'abortedWaiting', atMs)
    } else if (job.state !== 'ended') {
      job.abortRequested = true
    }
    this.#cutAt(atMs)
    return this.#takeEnded()
  }

  /** Everything whose time has come happens. Returns the requests that ended, in that order. */
  advanceTo(atMs: number): Job[] {
    this.#workUntil(atMs)
    return this.#takeEnded()
  }

  /** From the next step on, another model says how long things take. */
  changeModel(model: ServiceModel, atMs: number): Job[] {
    this.#workUntil(atMs)
    const isDecoding = this.#phase.kind === 'decode'
    this.#settleDecode(atMs)
    this.#model = model
    if (isDecoding) this.#begin(this.#nowMs)
    return this.#takeEnded()
  }

  /** Sends so many running requests back to the queue, those first that have written least. */
  retract(count: number, atMs: number): Job[] {
    this.#workUntil(atMs)
    this.#settleDecode(atMs)
    for (let i = 0; i < count && this.#running.length > 0; i++) this.#retractOne()
    if (this.#phase.kind !== 'prefill') this.#begin(this.#nowMs)
    return this.#takeEnded()
  }

  /** Tokens of context that are in use at a time. */
  usedTokens(atMs: number): number {
    const prefilling = this.prefilling.reduce((sum, job) => sum + job.promptTokens + job.written, 0)
    return prefilling + this.#contextAt(this.stepAt(atMs))
  }

  /** The decode step that is done at a time; looks ahead without changing anything. */
  stepAt(atMs: number): number {
    const phase = this.#phase
    if (phase.kind !== 'decode') return this.step
    return phase.startStep + Math.min(phase.steps, this.#stepsSince(phase, atMs))
  }

  /** Output tokens per second of the decode step under way, were it to go on. */
  tokensPerSecond(atMs: number): number {
    const running = this.#running.length
    if (running === 0) return 0
    return (1000 * running) / stepMs(this.#model, running, this.#contextAt(this.stepAt(atMs)))
  }

  #workUntil(atMs: number): void {
    for (;;) {
      const phase = this.#phase
      if (phase.kind === 'idle') {
        if (Number.isFinite(atMs)) this.#nowMs = Math.max(this.#nowMs, atMs)
        return
      }
      if (phase.kind === 'prefill') {
        if (phase.endMs > atMs) return
        this.#finishPrefill(phase.jobs, phase.endMs)
      } else {
        const endMs = this.#endOf(phase)
        if (endMs > atMs) return
        this.#finishDecode(phase.startStep + phase.steps, endMs)
      }
      this.#begin(this.#nowMs)
    }
  }

  /** Decides, between two steps, what comes next. */
  #begin(atMs: number): void {
    this.#nowMs = atMs
    const batch = this.#nextBatch()
    if (batch.length > 0) {
      const tokens = batch.reduce((sum, job) => sum + job.promptTokens + job.written - job.cachedTokens, 0)
      for (const job of batch) {
        job.state = 'prefill'
        job.admittedMs ??= atMs
      }
      this.#phase = { kind: 'prefill', jobs: batch, endMs: atMs + prefillMs(this.#model, tokens) }
      return
    }
    if (this.#running.length === 0) {
      this.#phase = { kind: 'idle' }
      return
    }
    this.#makeRoom()
    const running = this.#running.length
    if (running === 0) return this.#begin(atMs)
    const contextTokens = this.#contextAt(this.step)
    const untilDue = this.#running.reduce((least, job) => Math.min(least, job.dueStep - this.step), Infinity)
    const untilFull = Math.floor((this.limits.kvTokens - contextTokens) / running)
    const steps = Math.max(1, Math.min(untilDue, untilFull))
    this.#phase = { kind: 'decode', startMs: atMs, startStep: this.step, steps, contextTokens }
  }

  /** The waiting requests that are prefilled next: as many as there are slots and memory for. */
  #nextBatch(): Job[] {
    const batch: Job[] = []
    let tokens = 0
    while (this.#running.length + batch.length < this.limits.maxRunning && this.#hasRoomForNext(batch)) {
      const job = this.waiting[0]
      if (!job) break
      const needed = job.promptTokens + job.written - job.cachedTokens
      if (batch.length > 0 && tokens + needed > maxPrefillTokens) break
      tokens += needed
      this.waiting.shift()
      batch.push(job)
    }
    return batch
  }

  #hasRoomForNext(batch: readonly Job[]): boolean {
    const next = this.waiting[0]
    if (!next) return false
    if (this.#running.length + batch.length === 0) return true
    const ratio = Math.max(
      reserve.last,
      reserve.first - ((reserve.first - reserve.last) * this.#quietSteps) / reserve.overSteps,
    )
    const claim = (job: Job) => {
      const written = job.writtenAt(this.step)
      const toCome = Math.min(reserve.perRequestTokens, job.maxNewTokens - written)
      return job.promptTokens + written + ratio * toCome
    }
    const claimed = [...this.#running, ...batch].reduce((sum, job) => sum + claim(job), 0)
    return claimed + claim(next) <= this.limits.kvTokens
  }

  /** Retracts while the next step would overflow the memory. The last request alone is given up instead. */
  #makeRoom(): void {
    const fits = (steps: number) => this.#contextAt(this.step) + steps * this.#running.length <= this.limits.kvTokens
    if (fits(1)) return
    while (this.#running.length > 1 && !fits(retractedAheadSteps)) this.#retractOne()
    const [last] = this.#running
    if (last && this.#running.length === 1 && !fits(1)) {
      this.#running = []
      last.written = last.writtenAt(this.step)
      this.#end(last, 'outOfMemory', this.#nowMs)
    }
  }

  #retractOne(): void {
    let victim = this.#running[0]
    if (!victim) return
    for (const job of this.#running) if (job.writtenAt(this.step) < victim.writtenAt(this.step)) victim = job
    this.#running.splice(this.#running.indexOf(victim), 1)
    victim.written = victim.writtenAt(this.step)
    victim.retractions++
    this.retractedRequests++
    this.#quietSteps = 0
    this.#enqueue(victim)
  }

  #enqueue(job: Job): void {
    if (this.waiting.length >= this.limits.maxQueued) {
      this.#end(job, 'queueFull', this.#nowMs)
      return
    }
    job.state = 'waiting'
    this.waiting.push(job)
  }

  #finishPrefill(jobs: readonly Job[], atMs: number): void {
    this.#nowMs = atMs
    for (const job of jobs) {
      job.firstTokenMs ??= atMs
      if (job.written < job.plannedTokens) job.written++
      if (job.abortRequested) this.#end(job, 'abortedRunning', atMs)
      else if (job.written >= job.plannedTokens) this.#end(job, 'done', atMs)
      else {
        job.state = 'running'
        job.baseStep = this.step - job.written
        job.dueStep = job.baseStep + job.plannedTokens
        this.#running.push(job)
      }
    }
  }

  #finishDecode(step: number, atMs: number): void {
    this.#quietSteps += step - this.step
    this.step = step
    this.#nowMs = atMs
    const isOver = (job: Job) => job.dueStep <= step || job.abortRequested
    if (!this.#running.some(isOver)) return
    const over = this.#running.filter(isOver)
    this.#running = this.#running.filter((job) => !isOver(job))
    for (const job of over) {
      const isDone = job.dueStep <= step
      job.written = job.writtenAt(step)
      this.#end(job, isDone ? 'done' : 'abortedRunning', atMs)
    }
  }

  #end(job: Job, ending: Ending, atMs: number): void {
    job.state = 'ended'
    job.ending = ending
    job.endedMs = atMs
    this.#ended.push(job)
  }

  /** After an arrival: an idle engine starts at once, a decoding one after its step, if there is a slot. */
  #rethink(atMs: number): void {
    if (this.#phase.kind === 'idle') this.#begin(this.#nowMs)
    else if (this.#phase.kind === 'decode' && this.#running.length < this.limits.maxRunning) this.#cutAt(atMs)
  }

  /** Lets a decode end with the step that is under way. */
  #cutAt(atMs: number): void {
    const phase = this.#phase
    if (phase.kind !== 'decode') return
    const done = this.#stepsSince(phase, atMs)
    phase.steps = Math.max(1, Math.min(phase.steps, done + 1))
  }

  /** Ends a decode with the steps that are whole, giving up the one under way. */
  #settleDecode(atMs: number): void {
    const phase = this.#phase
    if (phase.kind !== 'decode') return
    this.#finishDecode(phase.startStep + Math.min(phase.steps, this.#stepsSince(phase, atMs)), atMs)
  }

  /** Tokens of context of the running requests at a step. */
  #contextAt(step: number): number {
    return this.#running.reduce((sum, job) => sum + job.promptTokens + job.writtenAt(step), 0)
  }

  #endOf({ startMs, steps, contextTokens }: Phase & { kind: 'decode' }): number {
    return startMs + stepsMs(this.#model, this.#running.length, contextTokens, steps)
  }

  #stepsSince({ startMs, contextTokens }: Phase & { kind: 'decode' }, atMs: number): number {
    return stepsWithin(this.#model, this.#running.length, contextTokens, atMs - startMs)
  }

  #takeEnded(): Job[] {
    const ended = this.#ended
    this.#ended = []
    return ended
  }
}
