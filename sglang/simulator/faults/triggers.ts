import { hashOf, type Random, randomFrom, uniform } from '../scheduling/random.ts'
import type { FaultId } from './faults.ts'
import type { FaultParameters } from './hooks.ts'

/** When a fault happens. Everything that is given must hold; with nothing given it happens always, or at once. */
export interface FaultTrigger {
  /** Not before so long after it was set (real ms). */
  afterMs?: number
  /** Over after so long (real ms). */
  forMs?: number
  /** On the nth request for tokens since it was set, counted from 1. */
  nth?: number
  /** On every so many-th request. */
  every?: number
  /** Of each request, 0 to 1; drawn from the engine's seed. */
  probability?: number
  /**
   * Of all prompts, 0 to 1. Which ones follows from their text and the engine's seed alone: they meet the fault at every
   * attempt and on every engine.
   */
  promptShare?: number
  /** Where the prompt's text contains this. */
  marker?: string
  /** So often at most. */
  times?: number
}

/** A fault to be set, as options, flags and the admin endpoint give it. */
export interface FaultSpec {
  fault: FaultId
  when?: FaultTrigger
  with?: FaultParameters
}

/** Watches the requests for the one that a fault waits for. */
export class TriggerState {
  fired = 0
  #seen = 0
  readonly #random: Random
  readonly #setMs = performance.now()

  constructor(
    readonly trigger: FaultTrigger,
    seed: number,
    /** Chooses among prompts. */
    readonly salt: number,
  ) {
    this.#random = randomFrom(seed)
  }

  /** Whether the fault waits for requests at all, instead of happening by itself. */
  get waitsForRequest(): boolean {
    const { nth, every, probability, promptShare, marker } = this.trigger
    return [nth, every, probability, promptShare, marker].some((given) => given !== undefined)
  }

  /** Counts a request in and says whether it sets the fault off. The prompt is only read where the trigger asks for it. */
  fires(promptText: () => string): boolean {
    const { afterMs = 0, forMs = Number.POSITIVE_INFINITY, nth, every, probability, times } = this.trigger
    const elapsedMs = performance.now() - this.#setMs
    if (elapsedMs < afterMs || elapsedMs > afterMs + forMs) return false
    if (times !== undefined && this.fired >= times) return false
    this.#seen++
    if (nth !== undefined && this.#seen !== nth) return false
    if (every !== undefined && this.#seen % every !== 0) return false
    if (probability !== undefined && uniform(this.#random) >= probability) return false
    if (!this.#concerns(promptText)) return false
    this.fired++
    return true
  }

  #concerns(promptText: () => string): boolean {
    const { promptShare, marker } = this.trigger
    if (marker !== undefined && !promptText().includes(marker)) return false
    return promptShare === undefined || hashOf(Buffer.from(promptText()), this.salt) < promptShare * 2 ** 32
  }
}
