import { join } from 'node:path'
import type { Tokenizer } from 'tokenizers'

/** How token counts came about, for everyone who reads them. */
export type TokenMethod = 'tokenizer' | 'server' | 'estimate'

/** Counts tokens of texts alone, without any template. */
export interface TokenCounter {
  readonly method: TokenMethod
  counts(texts: readonly string[]): Promise<number[]>
}

/** The model's tokenizer can't be used. */
export class TokenizerUnusable extends Error {
  override readonly name = 'TokenizerUnusable'
  constructor(
    readonly folder: string,
    options?: ErrorOptions,
  ) {
    super(`${join(folder, 'tokenizer.json')} can't be read as a tokenizer: check \`tokenizer\` in the spec`, options)
  }
}

/** Counts with the model's own tokenizer.json. Throws `TokenizerUnusable`. */
export function modelCounter(folder: string): TokenCounter {
  let opening: Promise<Tokenizer> | undefined
  return {
    method: 'tokenizer',
    async counts(texts) {
      opening ??= opened(folder)
      const encodings = await (await opening).encodeBatch([...texts], { addSpecialTokens: false })
      return encodings.map((encoding) => encoding.getLength())
    },
  }
}

async function opened(folder: string): Promise<Tokenizer> {
  // A large native library, which most runs do without.
  const { Tokenizer } = await import('tokenizers')
  try {
    return Tokenizer.fromFile(join(folder, 'tokenizer.json'))
  } catch (cause) {
    throw new TokenizerUnusable(folder, { cause })
  }
}

/**
 * Estimates tokens from bytes: today's vocabularies take about 4 bytes of English, and about 3 of other text as UTF-8, per
 * token. Off by a quarter on code or rare languages.
 */
export const estimator: TokenCounter = {
  method: 'estimate',
  counts: async (texts) => texts.map(estimatedTokens),
}

export function estimatedTokens(text: string): number {
  const bytes = Buffer.byteLength(text)
  return Math.ceil(text.length === bytes ? bytes / 4 : bytes / 3)
}
