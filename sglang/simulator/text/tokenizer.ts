/** What the simulated engine needs of a tokenizer; one that reads a real model's files can be put in its place. */
export interface SimTokenizer {
  /** Throws `NotText` for a string with half a surrogate pair. */
  encode(text: string): number[]
  decode(ids: readonly number[]): string
  /** The conversation as the model's chat template writes it. */
  renderChat(messages: readonly ChatMessage[], options: RenderOptions): string
  /** Ends a turn. */
  readonly eosId: number
  /** Ids are smaller than this. */
  readonly vocabSize: number
  /** Ids that `/detokenize` leaves out when asked to skip special tokens. */
  isSpecial?(id: number): boolean
}

export interface ChatMessage {
  role: string
  content: string
  reasoning_content?: string
  tool_calls?: unknown
}

export interface RenderOptions {
  /** The prompt goes on to where the assistant's answer begins. */
  addGenerationPrompt: boolean
  /** Undefined: as the template does by itself. */
  enableThinking?: boolean
  tools?: readonly unknown[]
  /** The last message is an answer to be continued. */
  continueFinalMessage?: boolean
}

/** A string that has no UTF-8 form. */
export class NotText extends Error {
  override readonly name = 'NotText'
  constructor() {
    super('TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]')
  }
}
