import type { Message } from '../domain/prompt.ts'
import type { FinishReason, Usage } from '../domain/sample.ts'
import type { Sampling } from '../domain/spec.ts'
import type { Symptom } from './error-table.ts'
import type { RequestOptions } from './http.ts'

/** What a server says of itself. */
export interface EngineDescription {
  model: string
  weightVersion: string
  /** Of the server software, such as `0.5.12`; undefined where it tells none. */
  version?: string
  /** Tokens that prompt and answer may have together; undefined where it tells none. */
  contextTokens?: number
  /** Requests that it runs at a time. The flag it was started with may say more than it does. */
  maxRunning?: number
  /** Known faults of this version, and what to do about them. */
  warnings: string[]
}

/** How busy an engine is, for permits and the progress watchdog. */
export interface EngineLoad {
  running: number
  waiting: number
  /** Changes whenever tokens advance. */
  tokenMark: string
  /** Output tokens per second, as the engine sees it. */
  tokensPerSecond?: number
  /** Share of the KV cache in use, 0 to 1. */
  kvUsage?: number
}

/** One assistant turn to be written. */
export interface TurnRequest {
  messages: Message[]
  tools?: unknown[]
  /** Arguments for the chat template, thinking on or off among them. */
  templateKwargs?: Record<string, unknown>
  sampling: Sampling
  rid: string
}

/** An answer that passed the validity gate. */
export interface TurnReply {
  promptIds?: number[]
  outputIds?: number[]
  /** As the engine wrote it, thinking included. */
  text: string
  content: string
  reasoning?: string
  toolCalls?: unknown[]
  finishReason: FinishReason
  usage: Usage
  /** Of the weights that wrote it; undefined where the server does not say. */
  weightVersion?: string
}

/** An attempt gave no sample; the symptom says how. */
export class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed'
  constructor(readonly symptom: Symptom) {
    super(symptom.said)
  }
}

/** Any server that Longhaul can generate with. */
export interface EngineClient {
  /** Throws `NoReply` or `AttemptFailed`. */
  describe(): Promise<EngineDescription>
  /** Writes one turn. Throws `NoReply` or `AttemptFailed`. */
  complete(request: TurnRequest, options: RequestOptions): Promise<TurnReply>
  /** Undefined where the server does not tell. Throws `NoReply` when it hangs. */
  load(): Promise<EngineLoad | undefined>
  /** Says whether the server takes requests; costs it a token at most. */
  isHealthy(): Promise<boolean>
  close(): Promise<void>
}
