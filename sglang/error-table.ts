import type { FailureReason } from '../domain/failure-reasons.ts'

/** What an attempt that gave no sample showed. */
export interface Symptom {
  /** HTTP status; undefined when no reply came. */
  status?: number
  /** Socket code of a `NoReply`. */
  code?: string
  /** What the engine said, or what the validity gate found. */
  said: string
  /** What the validity gate found in a reply with status 200. */
  finding?: Finding
}

export type Finding = 'aborted' | 'nan' | 'empty' | 'malformed' | 'degenerate' | 'truncated' | 'wrongModel'

/**
 * - `never`: asking again would not help; the prompt fails at once.
 * - `here`: ask the same engine again.
 * - `elsewhere`: ask the same engine once more, then another one where there is one.
 * - `park`: the engine is in trouble; ask again when it is well. Burns no attempt.
 * - `refuse`: the engine is set up wrongly for this run; nothing is asked of it any more. Burns no attempt.
 */
export type Retry = 'never' | 'here' | 'elsewhere' | 'park' | 'refuse'

export interface ErrorClass {
  name: string
  matches: (symptom: Symptom) => boolean
  retry: Retry
  /** Reason code of the failure, once no attempt is left. */
  reason: FailureReason
  /** Wait before the next attempt (ms), doubled each time, with jitter. */
  backOffMs: number
  /** Why it is treated so. */
  because: string
}

const says = (pattern: RegExp) => (symptom: Symptom) => pattern.test(symptom.said)
const found = (finding: Finding) => (symptom: Symptom) => symptom.finding === finding
const hasStatus =
  (...statuses: number[]) =>
  (symptom: Symptom) =>
    symptom.status !== undefined && statuses.includes(symptom.status)

/** The first row that matches decides. */
export const errorClasses: readonly ErrorClass[] = [
  {
    name: 'aborted',
    matches: found('aborted'),
    retry: 'elsewhere',
    reason: 'aborted',
    backOffMs: 1_000,
    because: 'SGLang reports an abort as HTTP 200; the prompt may do well on another engine.',
  },
  {
    name: 'nan',
    matches: found('nan'),
    retry: 'elsewhere',
    reason: 'numeric_error',
    backOffMs: 1_000,
    because: 'Broken numbers often stick to one engine.',
  },
  {
    name: 'empty answer',
    matches: found('empty'),
    retry: 'here',
    reason: 'empty_answer',
    backOffMs: 0,
    because: 'The model ended its turn at once; another draw may not.',
  },
  {
    name: 'degenerate answer',
    matches: found('degenerate'),
    retry: 'here',
    reason: 'degenerate',
    backOffMs: 0,
    because: 'Endless repetition; another draw may get out of it.',
  },
  {
    name: 'truncated answer',
    matches: found('truncated'),
    retry: 'never',
    reason: 'truncated',
    backOffMs: 0,
    because: 'The spec says that cut answers fail, and has said already whether to extend them.',
  },
  {
    name: 'wrong model',
    matches: found('wrongModel'),
    retry: 'refuse',
    reason: 'malformed_answer',
    backOffMs: 0,
    because: 'The engine came back with other weights: none of its answers may enter the run.',
  },
  {
    name: 'malformed reply',
    matches: found('malformed'),
    retry: 'elsewhere',
    reason: 'malformed_answer',
    backOffMs: 1_000,
    because: 'Truncated JSON, or fields missing that the contract promises.',
  },
  {
    name: 'duplicate rid',
    matches: says(/Duplicate request ID detected/),
    retry: 'here',
    reason: 'engine_error',
    backOffMs: 0,
    because: 'SGLang up to 0.5.13 leaks request ids; a fresh one passes.',
  },
  {
    name: 'too long',
    matches: says(/longer than the model's context length|exceeds the (model's )?maximum (context|allowed) length/),
    retry: 'never',
    reason: 'prompt_too_long',
    backOffMs: 0,
    because: 'It will not fit the next time either.',
  },
  {
    name: 'not allowed',
    matches: hasStatus(401, 403, 404, 405),
    retry: 'refuse',
    reason: 'refused_by_engine',
    backOffMs: 0,
    because: 'Wrong key or wrong kind of server: every prompt would fail.',
  },
  {
    name: 'overloaded',
    matches: hasStatus(429, 502, 503, 504),
    retry: 'park',
    reason: 'engine_error',
    backOffMs: 1_000,
    because: 'Queue full, starting or draining: the prompt is not to blame.',
  },
  {
    name: 'refused',
    matches: ({ status }) => status !== undefined && status >= 400 && status < 500,
    retry: 'never',
    reason: 'refused_by_engine',
    backOffMs: 0,
    because: 'A bad request stays bad; it never counts against the engine.',
  },
  {
    name: 'engine error',
    matches: ({ status }) => status !== undefined && status >= 500,
    retry: 'elsewhere',
    reason: 'engine_error',
    backOffMs: 1_000,
    because: 'Out of memory for this request, or a bug: worth another try, not fatal to others.',
  },
  {
    name: 'deadline',
    matches: ({ code }) => code === 'DEADLINE',
    retry: 'elsewhere',
    reason: 'timeout',
    backOffMs: 0,
    because: 'This request hangs while the engine as a whole moves on, or the watchdog would have parked it.',
  },
  {
    name: 'no connection',
    matches: ({ code }) => code !== undefined,
    retry: 'park',
    reason: 'engine_error',
    backOffMs: 500,
    because: 'Refused, reset or closed: the server is down, loading, or dropped an idle connection.',
  },
]

/** How to go on after an attempt that gave no sample. */
export function classify(symptom: Symptom): ErrorClass {
  const match = errorClasses.find((row) => row.matches(symptom))
  if (!match) throw new Error(`No error class for ${JSON.stringify(symptom)}`)
  return match
}
