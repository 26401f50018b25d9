import { wordsOf } from '../../../domain/words.ts'
import { mixed, wordHash } from '../word-hash.ts'

/** N-grams of evaluation texts, in memory that threads share. */
export interface NgramTables {
  /** Lengths in words that n-grams of the index have: `ngram`, and those of shorter texts. */
  readonly lengths: readonly number[]
  /** Open-addressing table: three words per slot: hash high, hash low (0: free), number of the text. */
  readonly slots: SharedArrayBuffer
}

/** Where an n-gram was found. */
export interface NgramMatch {
  /** Number of the evaluation text. */
  readonly text: number
  /** The words that both have. */
  readonly words: string
}

export interface NgramOptions {
  readonly ngram: number
  /** Shorter texts are too common to mean anything. */
  readonly minWords: number
}

/** Collects evaluation texts; `tables` is the index of what was added. */
export class NgramCollector {
  readonly #highs: number[] = []
  readonly #lows: number[] = []
  readonly #texts: number[] = []
  readonly #lengths = new Set<number>()

  constructor(readonly options: NgramOptions) {}

  add(text: string, number: number): void {
    const words = wordsOf(text).map(wordHash)
    const { ngram, minWords } = this.options
    if (words.length < Math.min(minWords, ngram)) return
    const length = Math.min(ngram, words.length)
    this.#lengths.add(length)
    for (let at = 0; at + length <= words.length; at++) {
      const { high, low } = hashOf(words, at, length)
      this.#highs.push(high)
      this.#lows.push(low)
      this.#texts.push(number)
    }
  }

  tables(): NgramTables {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(16, this.#highs.length * 2)))
    const slots = new SharedArrayBuffer(capacity * slotWords * 4)
    const table = new Uint32Array(slots)
    this.#highs.forEach((high, n) => {
      const low = this.#lows[n] ?? 0
      const at = find(table, high, low)
      if (table[at + 1] !== 0) return
      table[at] = high
      table[at + 1] = low
      table[at + 2] = this.#texts[n] ?? 0
    })
    return { lengths: [...this.#lengths].sort((a, b) => b - a), slots }
  }
}

/** The first n-gram that a text has in common with the index, longer ones before shorter ones. */
export function firstMatch(text: string, { lengths, slots }: NgramTables): NgramMatch | undefined {
  const words = wordsOf(text)
  const hashes = words.map(wordHash)
  const table = new Uint32Array(slots)
  for (const length of lengths) {
    for (let at = 0; at + length <= words.length; at++) {
      const { high, low } = hashOf(hashes, at, length)
      const slot = find(table, high, low)
      if (table[slot + 1] !== 0) return { text: table[slot + 2] ?? 0, words: words.slice(at, at + length).join(' ') }
    }
  }
  return undefined
}

const slotWords = 3

/** 64 bits over the words; the low half is never 0, which marks free slots. */
function hashOf(words: readonly number[], from: number, length: number): { high: number; low: number } {
  let high = length
  let low = ~length
  for (let at = from; at < from + length; at++) {
    const word = words[at] ?? 0
    high = mixed(high, word)
    low = Math.imul(low, 0x01000193) ^ word
  }
  return { high, low: mixed(low, high) | 1 }
}

/** The slot that has the hash, or the free one where it would go. */
function find(table: Uint32Array, high: number, low: number): number {
  const mask = table.length / slotWords - 1
  for (let slot = high & mask; ; slot = (slot + 1) & mask) {
    const at = slot * slotWords
    if (table[at + 1] === 0 || (table[at] === high && table[at + 1] === low >>> 0)) return at
  }
}
