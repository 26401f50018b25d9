import type { PromptSettings } from '../../domain/generation.ts'
import type { Message, Prompt } from '../../domain/prompt.ts'
import { endsInLoop } from '../../domain/repetition.ts'
import type { FailedAttempt, Failure, GeneratedTurn, Sample } from '../../domain/sample.ts'
import type { Sampling } from '../../domain/spec.ts'
import { turnEnds } from '../../domain/turns.ts'
import { AttemptFailed, type EngineClient, type TurnReply } from '../../sglang/engine-client.ts'
import { classify, type ErrorClass, type Symptom } from '../../sglang/error-table.ts'
import { NoReply } from '../../sglang/http.ts'
import type { InFlight } from '../../sglang/in-flight.ts'
import { failedAttemptOf, failureFor, sampleOf, turnOf } from './prompt-records.ts'

/** How a prompt is asked, and what is made of the answer. */
export interface AskSettings extends PromptSettings {
  truncation: 'keep' | 'extend' | 'fail'
  /** Attempts that a prompt may use up, over all engines. */
  attempts: number
  /** Longest wait for an answer of so many tokens. */
  deadlineMs: (maxNewTokens: number) => number
}

/** The engine as one prompt sees it. */
export interface AskedEngine {
  queue: string
  model: string
  weightVersion: string
  client: EngineClient
  /** Nothing new is asked of it until it is well again. */
  park(why: string): void
  isWell(): boolean
  /** Resolves when the engine is well again. Rejects when it is given up. */
  whenWell(): Promise<void>
}

export interface AskContext {
  engine: AskedEngine
  settings: AskSettings
  /** Attempts that earlier engines made. */
  earlier: FailedAttempt[]
  /** Another engine is there to try what does not succeed here. */
  canDefer: boolean
  /** The shard was taken away: what is in flight counts for nothing. */
  cancelled: AbortSignal
  /** What may have to be given up when the shard is taken away or the engine hangs. */
  inFlight: InFlight
  newRid: () => string
  now: () => number
  wait: (ms: number) => Promise<void>
  /** Between 0 and 1; spreads waits. */
  random: () => number
  onFailedAttempt?: (attempt: FailedAttempt) => void
}

export type PromptEnd =
  | { kind: 'sample'; sample: Sample }
  | { kind: 'failure'; failure: Failure }
  /** Left for another engine, with every attempt so far. */
  | { kind: 'deferred'; promptId: string; attempts: FailedAttempt[] }

/** The engine is set up wrongly for this run. */
export class EngineRefused extends Error {
  override readonly name = 'EngineRefused'
}

/** The shard was taken away while the prompt was being asked. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}

/**
 * Asks for every assistant turn of a prompt on the model's own history, all or nothing. What the engine says against the
 * prompt ends in a failure. Throws `EngineRefused`, `Cancelled`, and what `whenWell` rejects with.
 */
export async function completePrompt(prompt: Prompt, context: AskContext): Promise<PromptEnd> {
  const attempts = [...context.earlier]
  const messages: Message[] = []
  const turns: GeneratedTurn[] = []
  let asked = 0
  for (const end of turnEnds(prompt.messages)) {
    messages.push(...prompt.messages.slice(asked, end))
    asked = end
    const answer = await askTurn({ prompt, messages, index: turns.length }, attempts, context)
    if (answer.kind !== 'turn') return answer
    messages.push(assistantMessage(answer.reply))
    turns.push(answer.turn)
  }
  return { kind: 'sample', sample: sampleOf(prompt, messages, turns, context) }
}

interface TurnQuestion {
  prompt: Prompt
  messages: Message[]
  /** Which assistant turn, from 0. */
  index: number
}

type TurnEnd = { kind: 'turn'; turn: GeneratedTurn; reply: TurnReply } | Exclude<PromptEnd, { kind: 'sample' }>

async function askTurn(question: TurnQuestion, attempts: FailedAttempt[], context: AskContext): Promise<TurnEnd> {
  const { engine, settings } = context
  const attemptsBefore = attempts.length
  let sampling = settings.sampling
  for (let waits = 0; ; ) {
    if (!engine.isWell()) await engine.whenWell()
    const rid = context.newRid()
    const startedAt = context.now()
    const answer = await attempt(question, sampling, rid, context)
    if (context.cancelled.aborted) throw new Cancelled(`prompt ${question.prompt.promptId} was taken away`)
    const timing = { rid, startedAt, durationMs: context.now() - startedAt }
    if (answer.kind === 'reply') {
      const turn = turnOf(answer.reply, timing, attempts.length - attemptsBefore + 1)
      return { kind: 'turn', turn, reply: answer.reply }
    }
    if (answer.kind === 'cut') {
      sampling = { ...sampling, maxNewTokens: 2 * sampling.maxNewTokens }
      continue
    }
    const errorClass = classify(answer.symptom)
    const failed = failedAttemptOf(timing, engine.queue, errorClass.reason, answer.symptom, question.index)
    context.onFailedAttempt?.(failed)
    if (errorClass.retry === 'refuse') throw new EngineRefused(answer.symptom.said)
    if (errorClass.retry === 'park') engine.park(answer.symptom.said)
    else attempts.push(failed)
    const next = nextStep(errorClass, attempts, context)
    if (next === 'fail')
      return { kind: 'failure', failure: failureFor(question.prompt, errorClass.reason, attempts, context.now()) }
    if (next === 'defer') return { kind: 'deferred', promptId: question.prompt.promptId, attempts }
    waits += 1
    await context.wait(backOffMs(errorClass, waits, context.random()))
  }
}

type Answer =
  | { kind: 'reply'; reply: TurnReply }
  /** Cut at the token limit, and to be asked for again with more room. */
  | { kind: 'cut' }
  | { kind: 'symptom'; symptom: Symptom }

async function attempt(question: TurnQuestion, sampling: Sampling, rid: string, context: AskContext): Promise<Answer> {
  const { engine, settings, inFlight } = context
  const { prompt, messages } = question
  try {
    const reply = await engine.client.complete(
      {
        messages,
        ...(prompt.tools && { tools: prompt.tools }),
        ...(settings.templateKwargs && { templateKwargs: settings.templateKwargs }),
        sampling,
        rid,
      },
      {
        deadlineMs: settings.deadlineMs(sampling.maxNewTokens),
        inFlight,
      },
    )
    return judge(reply, context, sampling !== settings.sampling)
  } catch (error) {
    if (error instanceof AttemptFailed) return { kind: 'symptom', symptom: error.symptom }
    if (error instanceof NoReply) return { kind: 'symptom', symptom: { code: error.code, said: error.message } }
    throw error
  }
}

/** Holds a valid reply against what the spec wants of answers. */
function judge(reply: TurnReply, { engine, settings }: AskContext, isExtended: boolean): Answer {
  const { truncation } = settings
  if (reply.weightVersion !== undefined && reply.weightVersion !== engine.weightVersion) {
    return objection('wrongModel', `written by weights ${reply.weightVersion}, not ${engine.weightVersion}`)
  }
  if (endsInLoop(reply.text)) return objection('degenerate', 'the answer ends in an endless loop')
  if (reply.finishReason !== 'length' || truncation === 'keep') return { kind: 'reply', reply }
  if (truncation === 'fail') return objection('truncated', `cut after ${reply.usage.completionTokens} tokens`)
  return isExtended ? { kind: 'reply', reply } : { kind: 'cut' }
}

function objection(finding: NonNullable<Symptom['finding']>, said: string): Answer {
  return { kind: 'symptom', symptom: { status: 200, finding, said } }
}

/** Most of what fails once succeeds the second time, and moving a prompt costs its shard another dispatch. */
const triesBeforeMoving = 2

/** What follows the last of the failed attempts, all of which were burnt unless it parked the engine. */
function nextStep(
  errorClass: ErrorClass,
  attempts: FailedAttempt[],
  { settings, canDefer, engine }: AskContext,
): 'again' | 'defer' | 'fail' {
  if (errorClass.retry === 'park') return 'again'
  if (errorClass.retry === 'never' || attempts.length >= settings.attempts) return 'fail'
  const triesHere = attempts.filter((attempt) => attempt.engine === engine.queue).length
  return errorClass.retry === 'elsewhere' && canDefer && triesHere >= triesBeforeMoving ? 'defer' : 'again'
}

const longestBackOffMs = 30_000

/** Doubles with each wait; at least half of it, the rest by chance, so that prompts do not come back all at once. */
function backOffMs(errorClass: ErrorClass, waits: number, random: number): number {
  const full = Math.min(longestBackOffMs, errorClass.backOffMs * 2 ** (waits - 1))
  return full * (0.5 + random / 2)
}

function assistantMessage({ content, reasoning, toolCalls }: TurnReply): Message {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls && { tool_calls: toolCalls }),
  }
}
