import { hashOf, randomFrom } from '../scheduling/random.ts'
import type { SimTokenizer } from './tokenizer.ts'
import { stops, words } from './vocabulary.ts'

/** A text token by token. */
export interface Written {
  ids: number[]
  pieces: string[]
}

/** How an answer begins: `written` has the mark in its text, `opened` was put into the thinking by the prompt. */
export type Thinking = 'none' | 'written' | 'opened'

export interface AnswerRequest {
  /** Name of the prompt, from `promptName`. */
  name: string
  seed: number
  thinking: Thinking
  /** Length when nothing cuts it, end-of-turn not counted. */
  naturalTokens: number
}

/** Share of a thinking answer that is thought. */
const thoughtShare = 0.6

/** The name that the answers to a prompt begin with: 16 letters from a to p that follow from its token ids alone. */
export function promptName(promptIds: readonly number[]): string {
  // Letters only: a digit would meet too many a stop string.
  const letter = (hash: number, at: number) => String.fromCharCode(97 + ((hash >>> (4 * at)) & 15))
  const half = (hash: number) => Array.from({ length: 8 }, (_, at) => letter(hash, at)).join('')
  return half(hashOf(promptIds, 1)) + half(hashOf(promptIds, 2))
}

/** Writes answers that are the same for the same prompt and seed, from words that are one token each. */
export class AnswerWriter {
  readonly #words: Written
  readonly #stops: Written

  constructor(readonly tokenizer: SimTokenizer) {
    this.#words = this.#singles(words)
    this.#stops = this.#singles(stops)
    if (this.#words.ids.length < 16 || this.#stops.ids.length === 0) {
      throw new Error('The tokenizer has too few words of one token to write answers with.')
    }
  }

  /** Tokens that an answer needs at least to be whole. */
  shortest({ name, thinking }: Pick<AnswerRequest, 'name' | 'thinking'>): number {
    const begin = this.literal(naming(name)).ids.length + 1
    if (thinking === 'none') return begin
    const marks = this.literal(`${opening(thinking)}${closing}${afterThinking}`).ids.length
    return 2 * begin + marks
  }

  /** The first `limit` tokens of an answer; `reasoning` says how many of them are thought, marks included. */
  write(request: AnswerRequest, limit: number): Written & { reasoning: number } {
    const { name, thinking, naturalTokens } = request
    const out = new Page(Math.min(naturalTokens, limit))
    const begin = this.literal(naming(name))
    let reasoning = 0
    const words = this.#wordsFrom(request.seed)
    if (thinking !== 'none') {
      const close = this.literal(closing)
      const after = this.literal(afterThinking)
      out.add(this.literal(opening(thinking)))
      out.add(begin)
      out.fill(words, Math.max(out.length + 1, Math.floor(naturalTokens * thoughtShare)))
      out.add(close)
      reasoning = out.length
      out.add(after)
    }
    out.add(begin)
    out.fill(words, naturalTokens)
    return { ids: out.ids, pieces: out.pieces, reasoning }
  }

  /** The same few words for ever: what a model writes that is caught in a loop. */
  writeLoop(request: AnswerRequest, limit: number): Written {
    const loop = new Page(5)
    loop.fill(this.#wordsFrom(request.seed), 5)
    const out = new Page(limit)
    out.add(this.literal(naming(request.name)))
    while (!out.isFull) out.add(loop)
    return { ids: out.ids, pieces: out.pieces }
  }

  /** A text that is not made of words. */
  literal(text: string): Written {
    const ids = text === '' ? [] : this.tokenizer.encode(text)
    return { ids, pieces: ids.map((id) => this.tokenizer.decode([id])) }
  }

  /** Gives the place of the next word in the vocabulary, or of the next stop below zero. */
  #wordsFrom(seed: number): WordSource {
    const random = randomFrom(seed)
    const wordCount = this.#words.ids.length
    const stopCount = this.#stops.ids.length
    let sinceStop = 0
    const next = () => {
      const drawn = random()
      if (sinceStop > 6 && drawn % 8 === 0) {
        sinceStop = 0
        return -1 - ((drawn >>> 8) % stopCount)
      }
      sinceStop++
      return (drawn >>> 8) % wordCount
    }
    return { next, words: this.#words, stops: this.#stops }
  }

  #singles(texts: readonly string[]): Written {
    const single = texts
      .map((text) => ({ text, ids: this.tokenizer.encode(text) }))
      .filter(({ ids }) => ids.length === 1)
    return { ids: single.flatMap(({ ids }) => ids), pieces: single.map(({ text }) => text) }
  }
}

const naming = (name: string) => `To prompt ${name}:`
const opening = (thinking: Thinking) => (thinking === 'written' ? '<think>\n' : '')
const afterThinking = '\n\n'
const closing = '\n</think>'

interface WordSource {
  next: () => number
  words: Written
  stops: Written
}

/** Room for a known number of tokens, filled from the front: growing arrays would be most of an answer's cost. */
class Page implements Written {
  readonly ids: number[]
  readonly pieces: string[]
  length = 0

  constructor(readonly size: number) {
    this.ids = new Array<number>(size)
    this.pieces = new Array<string>(size)
  }

  get isFull(): boolean {
    return this.length >= this.size
  }

  add(more: { ids: readonly number[]; pieces: readonly string[] }): void {
    for (let at = 0; at < more.ids.length && !this.isFull; at++) this.#put(more.ids[at] ?? 0, more.pieces[at] ?? '')
  }

  /** Adds words until there are `tokens` tokens. */
  fill({ next, words, stops }: WordSource, tokens: number): void {
    while (this.length < tokens && !this.isFull) {
      const place = next()
      const list = place < 0 ? stops : words
      const at = place < 0 ? -1 - place : place
      this.#put(list.ids[at] ?? 0, list.pieces[at] ?? '')
    }
  }

  #put(id: number, piece: string): void {
    this.ids[this.length] = id
    this.pieces[this.length] = piece
    this.length++
  }
}
