import { hashOf, randomFrom } from './random.ts'
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

/** The name that the answers to a prompt begin with: 16 hex digits that follow from its token ids alone. */
export function promptName(promptIds: readonly number[]): string {
  const half = (basis: number) => hashOf(promptIds, basis).toString(16).padStart(8, '0')
  return half(1) + half(2)
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
    const begin = this.#literal(naming(name)).ids.length + 1
    if (thinking === 'none') return begin
    const marks = this.#literal(`${opening(thinking)}${closing}`).ids.length
    return 2 * begin + marks
  }

  /** The first `limit` tokens of an answer; `reasoning` says how many of them are thought, marks included. */
  write(request: AnswerRequest, limit: number): Written & { reasoning: number } {
    const { name, thinking, naturalTokens } = request
    const out: Written = { ids: [], pieces: [] }
    const nextWord = this.#wordsFrom(request.seed)
    let reasoning = 0
    if (thinking !== 'none') {
      const closingTokens = this.#literal(closing).ids.length
      append(out, this.#literal(opening(thinking)))
      append(out, this.#literal(naming(name)))
      const thought = Math.max(out.ids.length + 1, Math.floor(naturalTokens * thoughtShare) - closingTokens)
      while (out.ids.length < Math.min(thought, limit)) nextWord(out)
      append(out, this.#literal(closing))
      reasoning = out.ids.length
    }
    append(out, this.#literal(naming(name)))
    const end = Math.min(naturalTokens, limit)
    while (out.ids.length < end) nextWord(out)
    if (out.ids.length > limit) {
      out.ids.length = limit
      out.pieces.length = limit
    }
    return { ...out, reasoning: Math.min(reasoning, limit) }
  }

  /** The same few words for ever: what a model writes that is caught in a loop. */
  writeLoop(request: AnswerRequest, limit: number): Written {
    const out: Written = { ids: [], pieces: [] }
    append(out, this.#literal(naming(request.name)))
    const loop: Written = { ids: [], pieces: [] }
    const nextWord = this.#wordsFrom(request.seed)
    for (let i = 0; i < 5; i++) nextWord(loop)
    while (out.ids.length < limit) append(out, loop)
    out.ids.length = limit
    out.pieces.length = limit
    return out
  }

  /** A text that is not made of words. */
  literal(text: string): Written {
    return this.#literal(text)
  }

  #wordsFrom(seed: number): (out: Written) => void {
    const random = randomFrom(seed)
    const { ids, pieces } = this.#words
    const stopCount = this.#stops.ids.length
    let sinceStop = 0
    return (out) => {
      const drawn = random()
      if (sinceStop > 6 && drawn % 8 === 0) {
        const at = (drawn >>> 8) % stopCount
        out.ids.push(this.#stops.ids[at] ?? 0)
        out.pieces.push(this.#stops.pieces[at] ?? '')
        sinceStop = 0
        return
      }
      const at = (drawn >>> 8) % ids.length
      out.ids.push(ids[at] ?? 0)
      out.pieces.push(pieces[at] ?? '')
      sinceStop++
    }
  }

  #singles(texts: readonly string[]): Written {
    const single = texts
      .map((text) => ({ text, ids: this.tokenizer.encode(text) }))
      .filter(({ ids }) => ids.length === 1)
    return { ids: single.flatMap(({ ids }) => ids), pieces: single.map(({ text }) => text) }
  }

  #literal(text: string): Written {
    const ids = text === '' ? [] : this.tokenizer.encode(text)
    return { ids, pieces: ids.map((id) => this.tokenizer.decode([id])) }
  }
}

const naming = (name: string) => `To prompt ${name}:`
const opening = (thinking: Thinking) => (thinking === 'written' ? '<think>\n' : '')
const closing = '\n</think>\n\n'

function append(out: Written, more: Written): void {
  for (let at = 0; at < more.ids.length; at++) {
    out.ids.push(more.ids[at] ?? 0)
    out.pieces.push(more.pieces[at] ?? '')
  }
}
