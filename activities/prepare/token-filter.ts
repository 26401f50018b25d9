import type { FilterReason } from '../../domain/filter.ts'
import type { Message } from '../../domain/prompt.ts'
import type { Filters } from '../../domain/spec.ts'
import type { TokenCounter } from './token-count.ts'

interface Waiting {
  readonly texts: readonly string[]
  decide(reason: FilterReason | undefined): void
}

/** Texts are counted so many at once: a call each would cost more than the counting. */
const batchTexts = 512

/** Holds prompts back until their tokens are counted. */
export class TokenFilter {
  #waiting: Waiting[] = []

  constructor(
    readonly filters: Filters,
    readonly counter: TokenCounter,
  ) {}

  /** Whether the source filters by tokens at all. */
  static isWanted({ minTokens, maxTokens }: Filters = {}): boolean {
    return minTokens !== undefined || maxTokens !== undefined
  }

  /** Calls `decide` when the tokens are known, which is by the end of `settle`. */
  add(messages: readonly Message[], decide: Waiting['decide']): void {
    this.#waiting.push({ texts: messages.map(({ content }) => content), decide })
  }

  async settle(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    for (let from = 0; from < waiting.length; from += batchTexts) {
      const some = waiting.slice(from, from + batchTexts)
      const counts = await this.counter.counts(some.flatMap(({ texts }) => texts))
      let at = 0
      for (const { texts, decide } of some) {
        const tokens = counts.slice(at, at + texts.length).reduce((sum, count) => sum + count, 0)
        at += texts.length
        decide(this.#reasonFor(tokens))
      }
    }
  }

  #reasonFor(tokens: number): FilterReason | undefined {
    const { minTokens = 0, maxTokens = Number.POSITIVE_INFINITY } = this.filters
    if (tokens < minTokens) return 'too_few_tokens'
    return tokens > maxTokens ? 'too_many_tokens' : undefined
  }
}
