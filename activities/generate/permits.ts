/** Someone with prompts to start: a shard on this engine. */
export interface PermitTaker {
  /** The lower goes first: the tail of an older shard overlaps the head of the next. */
  order: number
  /** Starts one prompt; the promise ends with it. Undefined: no prompt is left to start. */
  startNext(): Promise<void> | undefined
}

/**
 * The requests that may be in flight on one engine, shared by all shards on it. Shards don't ask for permits, they are
 * asked for prompts: so nothing waits in line that a released shard would have to take back.
 */
export class Permits {
  #limit: number
  #inUse = 0
  #isShut = false
  #takers: PermitTaker[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  get limit(): number {
    return this.#limit
  }

  get inUse(): number {
    return this.#inUse
  }

  /** Permits above the limit are not taken back; they run out as requests end. */
  setLimit(limit: number): void {
    this.#limit = limit
    this.#give()
  }

  /** While shut, nothing new is started; what runs goes on. */
  setShut(isShut: boolean): void {
    this.#isShut = isShut
    this.#give()
  }

  /** Starts to ask the taker for prompts, until it has none left or leaves. Returns how to leave. */
  enlist(taker: PermitTaker): () => void {
    this.#takers = [...this.#takers, taker].sort((a, b) => a.order - b.order)
    this.#give()
    return () => this.#remove(taker)
  }

  #give(): void {
    while (!this.#isShut && this.#inUse < this.#limit) {
      const taker = this.#takers[0]
      if (!taker) return
      const started = taker.startNext()
      if (started !== undefined) this.#hold(started)
      else this.#remove(taker)
    }
  }

  #hold(started: Promise<void>): void {
    this.#inUse += 1
    const release = () => {
      this.#inUse -= 1
      this.#give()
    }
    started.then(release, release)
  }

  #remove(taker: PermitTaker): void {
    this.#takers = this.#takers.filter((other) => other !== taker)
  }
}
