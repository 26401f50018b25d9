import { setTimeout as sleep } from 'node:timers/promises'

/** Output tokens of each engine at a time. */
interface Reading {
  /** Milliseconds since the watch began. */
  atMs: number
  tokens: number[]
}

/** Reads the engines' own token counters every half second. */
export class TokenWatch {
  readonly readings: Reading[] = []
  #isOver = false
  readonly #watching: Promise<void>

  constructor(private readonly urls: string[]) {
    this.#watching = this.#watch()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#watching
  }

  /** Tokens that each engine wrote while it was watched. */
  get tokensByEngine(): number[] {
    const [first, last] = [this.readings[0], this.readings.at(-1)]
    return (last?.tokens ?? []).map((tokens, n) => tokens - (first?.tokens[n] ?? 0))
  }

  /**
   * Part of the makespan that the last 3 % of the work took beyond what they take at full capacity: what is lost while
   * engines run out of prompts one after another.
   */
  tailShare(tokensPerSecond: number): number {
    const totals = this.readings.map(({ atMs, tokens }) => ({ atMs, tokens: sum(tokens) }))
    const [first, last] = [totals[0], totals.at(-1)]
    if (!first || !last) return 0
    const work = last.tokens - first.tokens
    const end = totals.find(({ tokens }) => tokens >= last.tokens)?.atMs ?? last.atMs
    const start = totals.find(({ tokens }) => tokens - first.tokens > 0)?.atMs ?? 0
    const tail = totals.find(({ tokens }) => tokens - first.tokens >= 0.97 * work)
    if (!tail) return 0
    const ideal = (1000 * (last.tokens - tail.tokens)) / tokensPerSecond
    return (end - tail.atMs - ideal) / (end - start)
  }

  async #watch(): Promise<void> {
    const startedAt = performance.now()
    while (!this.#isOver) {
      const tokens = await Promise.all(this.urls.map(readTokens))
      this.readings.push({ atMs: performance.now() - startedAt, tokens })
      await sleep(500)
    }
  }
}

/** 0 for an engine that is down. */
async function readTokens(url: string): Promise<number> {
  try {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(/^sglang:generation_tokens_total\S*\s+(\S+)$/m.exec(text)?.[1] ?? 0)
  } catch {
    return 0
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
