import type { AddedToken } from './tokenizer-json.ts'

/** A stretch of text between added tokens, or one of them. */
export interface Stretch {
  readonly start: number
  readonly end: number
  /** Undefined for text. */
  readonly id?: number
}

/** Finds added tokens in text as the tokenizers library does: leftmost first, of several the longest. */
export class TokenFinder {
  readonly #pattern: RegExp | undefined
  readonly #ids: ReadonlyMap<string, number>

  constructor(tokens: readonly AddedToken[]) {
    this.#ids = new Map(tokens.map(({ content, id }) => [content, id]))
    const longestFirst = [...tokens].sort((a, b) => b.content.length - a.content.length)
    const source = longestFirst.map(sourceOf).join('|')
    this.#pattern = source === '' ? undefined : new RegExp(source, 'gu')
  }

  isIn(text: string): boolean {
    return this.#pattern !== undefined && text.search(this.#pattern) >= 0
  }

  /** The text cut at the tokens; stretches of text are never empty. */
  cut(text: string): Stretch[] {
    const stretches: Stretch[] = []
    let end = 0
    for (const { index, 0: found } of this.#pattern ? text.matchAll(this.#pattern) : []) {
      if (index > end) stretches.push({ start: end, end: index })
      end = index + found.length
      stretches.push({ start: index, end, id: this.#idOf(found) })
    }
    if (end < text.length) stretches.push({ start: end, end: text.length })
    return stretches
  }

  /** The text with a character put into every token, so that none is found any more. */
  broken(text: string, by: string): string {
    if (!this.#pattern) return text
    return text.replace(this.#pattern, (found) => {
      const at = found.search(/\P{White_Space}/u)
      const first = String.fromCodePoint(found.codePointAt(at) ?? 0)
      return found.slice(0, at) + first + by + found.slice(at + first.length)
    })
  }

  #idOf(found: string): number {
    return this.#ids.get(found) ?? this.#ids.get(found.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '')) ?? -1
  }
}

function sourceOf({ content, lstrip, rstrip }: AddedToken): string {
  const escaped = content.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return `${lstrip ? '\\p{White_Space}*' : ''}${escaped}${rstrip ? '\\p{White_Space}*' : ''}`
}
