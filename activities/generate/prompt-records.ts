import { type FailureReason, failureReasons } from '../../domain/failure-reasons.ts'
import type { Message, Prompt } from '../../domain/prompt.ts'
import type { FailedAttempt, Failure, GeneratedTurn, Sample, Usage } from '../../domain/sample.ts'
import type { TurnReply } from '../../sglang/engine-client.ts'
import type { Symptom } from '../../sglang/error-table.ts'
import type { AskContext } from './complete-prompt.ts'

export interface AttemptTiming {
  rid: string
  /** Milliseconds since the epoch. */
  startedAt: number
  durationMs: number
}

export function turnOf(reply: TurnReply, timing: AttemptTiming, attempts: number): GeneratedTurn {
  return {
    ...(reply.promptIds && { promptIds: reply.promptIds }),
    ...(reply.outputIds && { outputIds: reply.outputIds }),
    text: reply.text,
    finishReason: reply.finishReason,
    usage: reply.usage,
    rid: timing.rid,
    attempts,
    startedAt: isoTime(timing.startedAt),
    durationMs: timing.durationMs,
  }
}

/** `promptId` comes first: the journal looks for it there. */
export function sampleOf(prompt: Prompt, messages: Message[], turns: GeneratedTurn[], context: AskContext): Sample {
  const { engine, settings } = context
  return {
    promptId: prompt.promptId,
    source: prompt.source,
    messages,
    ...(prompt.tools && { tools: prompt.tools }),
    ...(settings.templateKwargs && { templateKwargs: settings.templateKwargs }),
    ...(settings.thinking && { thinking: settings.thinking }),
    finishReason: turns.at(-1)?.finishReason ?? 'stop',
    truncated: turns.some((turn) => turn.finishReason === 'length'),
    usage: sumUsage(turns),
    model: engine.model,
    weightVersion: engine.weightVersion,
    engine: engine.queue,
    sampling: settings.sampling,
    turns,
    provenance: prompt.provenance,
  }
}

/** A failure for any reason, a prompt that was never asked included. */
export function failureFor(prompt: Prompt, reason: FailureReason, attempts: FailedAttempt[], now: number): Failure {
  const lastWords = attempts.at(-1)?.said
  return {
    promptId: prompt.promptId,
    source: prompt.source,
    reason,
    message: lastWords ? `${failureReasons[reason]} The engine said: ${lastWords}` : failureReasons[reason],
    attempts,
    messages: prompt.messages,
    provenance: prompt.provenance,
    failedAt: isoTime(now),
  }
}

export function failedAttemptOf(
  timing: AttemptTiming,
  engine: string,
  reason: FailureReason,
  symptom: Symptom,
  turn: number,
): FailedAttempt {
  const { rid, startedAt, durationMs } = timing
  return { rid, engine, at: isoTime(startedAt), durationMs, reason, said: symptom.said, turn }
}

function sumUsage(turns: GeneratedTurn[]): Usage {
  const sum = (count: (usage: Usage) => number) => turns.reduce((total, turn) => total + count(turn.usage), 0)
  return {
    promptTokens: sum((usage) => usage.promptTokens),
    completionTokens: sum((usage) => usage.completionTokens),
    cachedTokens: sum((usage) => usage.cachedTokens),
    reasoningTokens: sum((usage) => usage.reasoningTokens),
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
