/** The times that an engine worker goes by, in milliseconds. */
export interface EngineTimings {
  /** Wait between two looks at an engine in trouble. */
  recheckMs: number
  /** In trouble for longer than this, its shards go to other engines. */
  lostAfterMs: number
  /** With requests in flight and no token for this long, the engine hangs. */
  stallMs: number
  /** How often its load is read, for permits and for the progress watchdog. */
  controlMs: number
  /** Time over which an engine that has just come up is filled. */
  rampMs: number
  /** How often what happens is written to the store for `progress.json` and `status`. */
  liveMs: number
  /** How often new rows of a journal go to the store. */
  checkpointMs: number
  /** Deadline of an attempt: `queueMs + maxNewTokens × perTokenMs`. */
  queueMs: number
  /** The slowest decode step that is still no hang. */
  perTokenMs: number
}

export const defaultTimings: EngineTimings = {
  recheckMs: 2_000,
  lostAfterMs: 120_000,
  stallMs: 120_000,
  controlMs: 5_000,
  rampMs: 5_000,
  liveMs: 3_000,
  checkpointMs: 60_000,
  queueMs: 360_000,
  perTokenMs: 80,
}
