/** How a request left the scheduler. */
export type Ending = 'done' | 'abortedRunning' | 'abortedWaiting' | 'queueFull' | 'outOfMemory'

/** A request as the scheduler sees it: how long it is, and how far it has come. */
export class Job {
  /** Where it stands; only the scheduler moves it. */
  state: 'waiting' | 'prefill' | 'running' | 'ended' = 'waiting'
  ending: Ending | undefined
  /** Tokens written when it last was prefilled or ended. */
  written = 0
  /** Decode step at which it had written nothing, as if it had run without a break. */
  baseStep = 0
  /** Decode step at which it ends. */
  dueStep = 0
  abortRequested = false
  retractions = 0
  submittedMs = 0
  /** Start of its first prefill (simulated ms). */
  admittedMs: number | undefined
  firstTokenMs: number | undefined
  endedMs = 0

  constructor(
    readonly promptTokens: number,
    /** Tokens that it writes when nothing stops it. */
    readonly plannedTokens: number,
    /** Tokens that it might have written at most: what the scheduler reserves memory by. */
    readonly maxNewTokens: number,
    /** Prompt tokens that need no prefill. */
    readonly cachedTokens: number,
    /** Called once, after the scheduler let go of it. */
    readonly onEnd: (job: Job) => void,
  ) {}

  /** Tokens written at a decode step. */
  writtenAt(step: number): number {
    return this.state === 'running' ? Math.min(step, this.dueStep) - this.baseStep : this.written
  }
}
