import type { TokenFinder } from '../model/token-finder.ts'
import { toValue, type Value } from '../template/values.ts'

/** Characters that Unicode keeps free for such use; a text that has one of them is given another. */
const breakers = Array.from({ length: 32 }, (_, n) => String.fromCharCode(0xfdd0 + n))

/** Data for the chat template in which no control token is left. */
export interface BrokenData {
  readonly value: Value
  /** The character that every control token of the data was broken by; empty when there was none. */
  readonly breaker: string
}

/** Breaks the control tokens in data, so that in a rendered text those of the template can be told from what people wrote. */
export function breakControls(data: unknown, controls: TokenFinder): BrokenData {
  const texts: string[] = []
  collectTexts(data, texts)
  if (!texts.some((text) => controls.isIn(text))) return { value: toValue(data), breaker: '' }
  const breaker = breakers.find((char) => !texts.some((text) => text.includes(char)))
  if (breaker === undefined) throw new Error('A conversation uses all characters that are free for breaking tokens.')
  return { value: toValue(mapTexts(data, (text) => controls.broken(text, breaker))), breaker }
}

function collectTexts(data: unknown, texts: string[]): void {
  if (typeof data === 'string') texts.push(data)
  else if (typeof data === 'object' && data !== null) {
    for (const [key, value] of Object.entries(data)) {
      if (!Array.isArray(data)) texts.push(key)
      collectTexts(value, texts)
    }
  }
}

function mapTexts(data: unknown, map: (text: string) => string): unknown {
  if (typeof data === 'string') return map(data)
  if (Array.isArray(data)) return data.map((item) => mapTexts(item, map))
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [map(key), mapTexts(value, map)]))
}
