import type { Message } from '../../domain/prompt.ts'

/** How token counts came about, for everyone who reads them. */
export type TokenMethod = 'tokenizer' | 'server' | 'estimate'

export interface TokenCounter {
  readonly method: TokenMethod
  /** Tokens of a text alone, no template. */
  count(text: string): number
}

/** Tokens of all turns together, without the template. */
export function promptTokens(messages: readonly Message[], counter: TokenCounter): number {
  return messages.reduce((sum, { content }) => sum + counter.count(content), 0)
}

/**
 * Estimates tokens from bytes: today's vocabularies take about 4 bytes of English, and about 3 of other text as UTF-8, per
 * token. Off by a quarter on code or rare languages.
 */
export const estimator: TokenCounter = {
  method: 'estimate',
  count(text) {
    const bytes = Buffer.byteLength(text)
    return Math.ceil(text.length === bytes ? bytes / 4 : bytes / 3)
  },
}
