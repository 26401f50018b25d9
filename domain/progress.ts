import type { TokenTotals } from './commit.ts'

export type RunStatus =
  | 'preparing'
  | 'generating'
  | 'paused'
  | 'waiting for engines'
  | 'stopping'
  | 'verifying'
  | 'merging'
  | 'tokenizing'
  | 'done'
  | 'stopped'
  | 'cancelled'
  | 'failed'

/** `progress.json`: exactly these keys, in this order. */
export interface Progress {
  /** Prompts of the run; 0 until the plan is made. */
  total: number
  completed: number
  failed: number
  /** Prompts finished per second since the run began generating. */
  rate_per_sec: number
  eta_hours: number
  total_input_tokens: number
  total_output_tokens: number
  avg_output_tokens: number
  /** Since the run began, time without any worker included. */
  elapsed_hours: number
  /** Sample objects in the store, verified. */
  s3_uploaded: number
  s3_bytes: number
  status: RunStatus
}

/** What a run has done, summed over committed shards and those in flight. */
export interface ProgressCounts extends TokenTotals {
  total: number
  samples: number
  failures: number
  uploadedObjects: number
  uploadedBytes: number
}

export interface ProgressTimes {
  /** Milliseconds since the epoch. */
  now: number
  startedAt: number
  /** When the first prompt was asked; undefined until then. */
  generatingSince: number | undefined
  /** When the last prompt ended, once all have: the rate stops falling then. */
  generatedAt: number | undefined
}

/** Puts counts and times together as `progress.json` shows them. */
export function progressOf(counts: ProgressCounts, times: ProgressTimes, status: RunStatus): Progress {
  const finished = counts.samples + counts.failures
  const generatingSeconds = secondsBetween(times.generatingSince ?? times.now, times.generatedAt ?? times.now)
  const rate = generatingSeconds > 0 ? finished / generatingSeconds : 0
  const left = Math.max(0, counts.total - finished)
  return {
    total: counts.total,
    completed: counts.samples,
    failed: counts.failures,
    rate_per_sec: rounded(rate, 2),
    eta_hours: rounded(rate > 0 ? left / rate / 3600 : 0, 2),
    total_input_tokens: counts.inputTokens,
    total_output_tokens: counts.outputTokens,
    avg_output_tokens: counts.samples > 0 ? Math.round(counts.outputTokens / counts.samples) : 0,
    elapsed_hours: rounded(secondsBetween(times.startedAt, times.now) / 3600, 2),
    s3_uploaded: counts.uploadedObjects,
    s3_bytes: counts.uploadedBytes,
    status,
  }
}

function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1000
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
