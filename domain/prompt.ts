/** Who speaks in a conversation, after normalisation. */
export type Role = 'system' | 'user' | 'assistant' | 'tool'

/** One turn of a conversation. The text is byte-exact as in the source, or as the engine wrote it. */
export interface Message {
  role: Role
  content: string
  /** The model's thinking, kept apart from what it answered. Assistant turns only. */
  reasoning_content?: string
  /** Tool calls in OpenAI's shape, `arguments` parsed where the source had them as a string. */
  tool_calls?: unknown[]
  tool_call_id?: string
  name?: string
}

export type Thinking = 'on' | 'off'

/** Where a prompt comes from; carried through to the sample. */
export interface Provenance {
  /** File within the source, as the spec named it or as found below the folder or glob. */
  file: string
  /** Row in the file, counted from 1: for JSONL the line number. */
  row: number
  /** The row's own id, always as a string. */
  id?: string
  split?: string
  license?: string
  category?: string
  /** What the row's own `source` column said. */
  origin?: string
}

/** A normalised conversation skeleton: system and user turns (and tool results), the assistant's to be written. */
export interface Prompt {
  /** First 128 bits of the SHA-256 of the canonical skeleton, as 32 hex digits: independent of the source. */
  promptId: string
  /** Name of the source. */
  source: string
  messages: Message[]
  /** Tool definitions for the chat template. */
  tools?: unknown[]
  /** Arguments for the chat template that the row asked for. */
  templateKwargs?: Record<string, unknown>
  /** Decided at planning time where the spec mixes thinking by ratio; left out: the template's default. */
  thinking?: Thinking
  provenance: Provenance
}
