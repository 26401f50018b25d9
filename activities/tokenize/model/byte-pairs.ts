import { charOfByte } from './byte-alphabet.ts'
import type { BpeJson } from './tokenizer-json.ts'

/** Ids are below 2^20, so that two of them fit into a number without loss. */
const idRoom = 0x10_0000

/** Merges the bytes of a word into tokens. */
export class BytePairs {
  readonly #idOfByte: readonly number[]
  /** By a pair of ids: the rank of their merge, then the id that it gives. */
  readonly #merges = new Map<number, number>()
  /** Words that are one token whatever the merges say; empty where the model wants all to be merged. */
  readonly #whole = new Map<string, number>()

  private constructor(model: BpeJson, idOfByte: readonly number[], pairs: readonly MergePair[]) {
    this.#idOfByte = idOfByte
    for (const [rank, { left, right, id }] of pairs.entries()) {
      this.#merges.set(left * idRoom + right, rank * idRoom + id)
    }
    if (model.ignore_merges) for (const [token, id] of Object.entries(model.vocab)) this.#whole.set(token, id)
  }

  /** Undefined for a model that is merged by other rules than the plain ones. */
  static of(model: BpeJson): BytePairs | undefined {
    const { vocab, dropout, continuing_subword_prefix, end_of_word_suffix } = model
    if (dropout || continuing_subword_prefix || end_of_word_suffix) return undefined
    const idOfByte = charOfByte.map((char) => vocab[char])
    const pairs = pairsOf(model)
    const isWhole = idOfByte.every((id) => id !== undefined) && Object.values(vocab).every((id) => id < idRoom)
    if (!pairs || !isWhole) return undefined
    return new BytePairs(model, idOfByte as number[], pairs)
  }

  /** The ids of the word whose UTF-8 is given. */
  merge(bytes: Uint8Array): number[] {
    if (this.#whole.size > 0) {
      let token = ''
      for (const byte of bytes) token += charOfByte[byte]
      const id = this.#whole.get(token)
      if (id !== undefined) return [id]
    }
    const ids: number[] = []
    for (const byte of bytes) ids.push(this.#idOfByte[byte] ?? 0)
    while (this.#mergeBest(ids));
    return ids
  }

  /** Merges the pair of the lowest rank, of several the leftmost one. False when no pair is left to merge. */
  #mergeBest(ids: number[]): boolean {
    let best = Number.POSITIVE_INFINITY
    let at = 0
    for (let n = 0; n + 1 < ids.length; n++) {
      const merge = this.#merges.get((ids[n] ?? 0) * idRoom + (ids[n + 1] ?? 0))
      if (merge !== undefined && merge < best) {
        best = merge
        at = n
      }
    }
    if (best === Number.POSITIVE_INFINITY) return false
    ids[at] = best % idRoom
    ids.copyWithin(at + 1, at + 2)
    ids.length--
    return true
  }
}

interface MergePair {
  left: number
  right: number
  id: number
}

function pairsOf({ merges, vocab }: BpeJson): MergePair[] | undefined {
  const pairs: MergePair[] = []
  for (const merge of merges) {
    const [first = '', second = ''] = typeof merge === 'string' ? merge.split(' ') : merge
    const [left, right, id] = [vocab[first], vocab[second], vocab[first + second]]
    if (left === undefined || right === undefined || id === undefined) return undefined
    pairs.push({ left, right, id })
  }
  return pairs
}
