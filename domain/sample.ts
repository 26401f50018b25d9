import type { FailureReason } from './failure-reasons.ts'
import type { Message, Provenance, Thinking } from './prompt.ts'
import type { Sampling } from './spec.ts'

/** Token counts of one turn, or summed over the turns of a sample. */
export interface Usage {
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  reasoningTokens: number
}

export type FinishReason = 'stop' | 'length' | 'tool_calls'

/** One assistant turn as the engine wrote it. */
export interface GeneratedTurn {
  /** Ids that the engine read: the rendered conversation up to this turn. Native mode only. */
  promptIds?: number[]
  /** Ids that the engine wrote, the end-of-turn id included when it stopped by itself. Native mode only. */
  outputIds?: number[]
  /** The raw text, thinking included; without the end-of-turn token. */
  text: string
  finishReason: FinishReason
  usage: Usage
  /** Request id of the attempt that succeeded. */
  rid: string
  /** How many attempts this turn took, the successful one included. */
  attempts: number
  /** When the successful attempt was sent (ISO 8601). */
  startedAt: string
  /** From sending to the last byte of the answer. */
  durationMs: number
}

/** An accepted completion of a prompt. */
export interface Sample {
  promptId: string
  source: string
  /** The whole conversation: the prompt's turns with the model's answers between them. */
  messages: Message[]
  tools?: unknown[]
  templateKwargs?: Record<string, unknown>
  thinking?: Thinking
  /** Of the last turn. */
  finishReason: FinishReason
  /** True when any turn ended for lack of tokens. */
  truncated: boolean
  usage: Usage
  model: string
  weightVersion: string
  /** Task queue of the engine that wrote it. */
  engine: string
  sampling: Sampling
  turns: GeneratedTurn[]
  provenance: Provenance
}

/** What was seen of one attempt that did not give a sample. */
export interface FailedAttempt {
  rid: string
  engine: string
  at: string
  durationMs: number
  reason: FailureReason
  /** What the engine said: status and body (shortened), or the socket error. */
  said: string
  /** Which assistant turn was being asked for, from 0. */
  turn: number
}

/** A prompt that ended without a sample. */
export interface Failure {
  promptId: string
  source: string
  reason: FailureReason
  /** One sentence for people. */
  message: string
  attempts: FailedAttempt[]
  messages: Message[]
  provenance: Provenance
  failedAt: string
}

/** How a prompt ended. */
export type Outcome = { kind: 'sample'; sample: Sample } | { kind: 'failure'; failure: Failure }
