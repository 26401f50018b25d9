/** Why a prompt ended without a sample. Each has its section in docs/failure-reasons.md. */
export const failureReasons = {
  prompt_too_long: 'The prompt does not fit into the context of the model.',
  refused_by_engine: 'The engine refused the request (4xx); asking again would not help.',
  engine_error: 'The engine answered with an error every time it was asked.',
  aborted: 'The engine aborted the generation every time it was asked.',
  numeric_error: 'The model produced a token outside its vocabulary (NaN) every time it was asked.',
  empty_answer: 'The model answered with nothing every time it was asked.',
  truncated: 'The answer was cut at the token limit, and the spec says that such answers fail.',
  degenerate: 'The answer repeats itself endlessly.',
  malformed_answer: 'The reply could not be read, or did not fit what was asked.',
  timeout: 'No answer within the deadline, every time it was asked.',
  shard_quarantined: 'Its shard failed on several engines and was set aside.',
  stopped: 'The run was stopped before the prompt was asked.',
} as const

export type FailureReason = keyof typeof failureReasons
