/** Cuts lines that come in order into shards of given sizes. */
export class ShardAssembler {
  #shard = 0
  #parts: Uint8Array[] = []
  #missing: number
  readonly #putting = new Set<Promise<void>>()

  constructor(
    readonly shardSizes: readonly number[],
    readonly put: (shard: number, lines: Uint8Array) => Promise<void>,
    /** Shards that may be on their way at the same time. */
    readonly concurrency = 4,
  ) {
    this.#missing = shardSizes[0] ?? 0
  }

  async add(bytes: Uint8Array, lengths: Uint32Array): Promise<void> {
    let start = 0
    let end = 0
    for (const length of lengths) {
      end += length
      this.#missing--
      if (this.#missing > 0) continue
      this.#parts.push(bytes.subarray(start, end))
      start = end
      await this.#close()
    }
    if (end > start) this.#parts.push(bytes.subarray(start, end))
  }

  /** Waits until all shards are put. */
  async finish(): Promise<void> {
    await Promise.all(this.#putting)
    if (this.#shard !== this.shardSizes.length) {
      throw new Error(`${this.#shard} shards were filled, ${this.shardSizes.length} were planned`)
    }
  }

  async #close(): Promise<void> {
    const [only] = this.#parts
    const lines = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts)
    const putting: Promise<void> = this.put(this.#shard, lines).finally(() => this.#putting.delete(putting))
    this.#putting.add(putting)
    this.#parts = []
    this.#shard++
    this.#missing = this.shardSizes[this.#shard] ?? Number.POSITIVE_INFINITY
    if (this.#putting.size >= this.concurrency) await Promise.race(this.#putting)
  }
}
