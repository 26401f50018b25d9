/** The parts of a `tokenizer.json` that Longhaul itself looks at; the rest is the library's business. */
export interface TokenizerJson {
  added_tokens?: AddedToken[]
  normalizer?: { type: string } | null
  pre_tokenizer?: PreTokenizerJson | null
  decoder?: DecoderJson | null
  model: BpeJson | { type: string; vocab: unknown }
}

export interface AddedToken {
  id: number
  content: string
  /** A control token, such as an end of turn: what a person writes is never one. */
  special: boolean
  normalized: boolean
  single_word: boolean
  /** The token takes white space before (after) it with it. */
  lstrip: boolean
  rstrip: boolean
}

export interface PreTokenizerJson {
  type: string
  pretokenizers?: PreTokenizerJson[]
  pattern?: { Regex?: string; String?: string }
  behavior?: string
  invert?: boolean
  add_prefix_space?: boolean
  use_regex?: boolean
}

export interface DecoderJson {
  type: string
}

export interface BpeJson {
  type: 'BPE'
  vocab: Record<string, number>
  merges: (string | [string, string])[]
  dropout?: number | null
  continuing_subword_prefix?: string | null
  end_of_word_suffix?: string | null
  ignore_merges?: boolean
}

export function isBpe(model: TokenizerJson['model']): model is BpeJson {
  return model.type === 'BPE'
}
