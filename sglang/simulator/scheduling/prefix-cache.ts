import { mix } from './random.ts'

/**
 * Remembers the beginnings of prompts in whole pages, the least recently used going first. It keeps hashes only, so that
 * its size does not depend on the prompts'.
 */
export class PrefixCache {
  readonly #pages = new Map<number, true>()

  constructor(
    /** Tokens of a page; 0 switches the cache off. */
    readonly pageTokens: number,
    readonly maxPages: number,
  ) {}

  /** Tokens at the beginning of a prompt that are known already; the prompt is known afterwards. */
  claim(promptIds: readonly number[]): number {
    if (this.pageTokens === 0) return 0
    let hash = 0x2545f491
    let cached = 0
    let isKnown = true
    for (let at = 0; at < promptIds.length; at++) {
      hash = Math.imul(hash ^ (promptIds[at] ?? 0), 0x01000193)
      hash ^= hash >>> 13
      const end = at + 1
      if (end % this.pageTokens !== 0) continue
      const page = mix(hash ^ end)
      isKnown &&= this.#pages.delete(page)
      // The last token is always computed: its output is the first new token.
      if (isKnown && end < promptIds.length) cached = end
      this.#pages.set(page, true)
    }
    this.#forgetOldest()
    return cached
  }

  clear(): void {
    this.#pages.clear()
  }

  #forgetOldest(): void {
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= this.maxPages) return
      this.#pages.delete(page)
    }
  }
}
