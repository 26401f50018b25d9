import { setTimeout as sleep } from 'node:timers/promises'
import { EngineRefused } from './complete-prompt.ts'

/** The engine has been in trouble for too long: its shards go elsewhere. */
export class EngineLost extends Error {
  override readonly name = 'EngineLost'
}

/** How an engine is found when it is looked at. */
export type Condition = { isWell: true } | { isWell: false; why: string; refusal?: boolean }

export interface EngineGateOptions {
  /** Looks at the engine. */
  look: () => Promise<Condition>
  /** Wait between two looks at an engine in trouble. */
  recheckMs: number
  /** After so long in trouble, whoever waits is told that the engine is lost. */
  lostAfterMs: number
  onOpen: () => void
  onShut: (why: string) => void
  now: () => number
}

/** Whether anything is asked of an engine. Shut when it is in trouble, opened again when a look finds it well. */
export class EngineGate {
  #state: 'shut' | 'open' | 'lost' | 'refused' = 'shut'
  #why = 'not looked at yet'
  #since: number
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  #isRecovering = false
  #isClosed = false

  constructor(private readonly options: EngineGateOptions) {
    this.#since = options.now()
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  get state(): string {
    return this.#state
  }

  /** Why it is not open. */
  get why(): string {
    return this.#why
  }

  /** Milliseconds since the state last changed. */
  get sinceMs(): number {
    return this.options.now() - this.#since
  }

  whenWell(): Promise<void> {
    if (this.#state === 'open') return Promise.resolve()
    if (this.#state === 'lost') return Promise.reject(new EngineLost(this.#why))
    if (this.#state === 'refused') return Promise.reject(new EngineRefused(this.#why))
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Shuts the gate and keeps looking until the engine is well again. */
  park(why: string): void {
    if (this.#state === 'open') {
      this.#become('shut', why)
      this.options.onShut(why)
    }
    this.#recover()
  }

  /** Looks at the engine now, and opens or shuts the gate by what is found. */
  async look(): Promise<Condition> {
    const condition = await this.options.look()
    if (condition.isWell) this.#open()
    else if (condition.refusal) this.#refuse(condition.why)
    else if (this.#state === 'open') this.park(condition.why)
    else this.#why = condition.why
    return condition
  }

  /** Ends the looking. */
  close(): void {
    this.#isClosed = true
    this.#rejectWaiting(new EngineLost('its worker stops'))
  }

  #recover(): void {
    if (this.#isRecovering || this.#isClosed) return
    this.#isRecovering = true
    void this.#lookUntilWell().finally(() => {
      this.#isRecovering = false
    })
  }

  async #lookUntilWell(): Promise<void> {
    while (!this.#isClosed && this.#state === 'shut') {
      await this.look()
      if (this.#state !== 'shut') return
      if (this.sinceMs > this.options.lostAfterMs) return this.#lose()
      await sleep(this.options.recheckMs, undefined, { ref: false })
    }
  }

  #open(): void {
    if (this.#state === 'open') return
    this.#become('open', '')
    this.options.onOpen()
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  #lose(): void {
    this.#become('lost', this.#why)
    this.#rejectWaiting(new EngineLost(this.#why))
  }

  #refuse(why: string): void {
    if (this.#state === 'open') this.options.onShut(why)
    this.#become('refused', why)
    this.#rejectWaiting(new EngineRefused(why))
  }

  #rejectWaiting(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #become(state: 'shut' | 'open' | 'lost' | 'refused', why: string): void {
    this.#state = state
    this.#why = why
    this.#since = this.options.now()
  }
}
