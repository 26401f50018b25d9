/** Requests that may have to be given up together: those of a shard. */
export class InFlight {
  readonly #giveUps = new Set<() => void>()

  /** Adds a request; returns how to take it out again. */
  add(giveUp: () => void): () => void {
    this.#giveUps.add(giveUp)
    return () => this.#giveUps.delete(giveUp)
  }

  /** Gives up what is in flight now; requests that come later are not touched. */
  giveUpAll(): void {
    for (const giveUp of [...this.#giveUps]) giveUp()
  }
}
