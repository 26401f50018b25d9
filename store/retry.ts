import { StoreUnavailable } from './errors.ts'
import { pause } from './pause.ts'

/** How a call goes on against a store that is down. */
export interface RetryPolicy {
  /** Milliseconds without any success after which a call gives up with `StoreUnavailable`. */
  readonly outageBudgetMs: number
  /** Longest wait before the first retry; doubles with each one. */
  readonly firstDelayMs: number
  /** No wait is longer than this. */
  readonly longestDelayMs: number
  /** Told before each wait, for logs. */
  readonly onRetry: (retry: Retry) => void
}

export interface Retry {
  readonly uri: string
  readonly key: string
  readonly operation: string
  /** Attempts so far, all of them failed. */
  readonly attempts: number
  readonly elapsedMs: number
  readonly delayMs: number
  readonly error: Error
}

/** What is being tried, for messages. */
export interface Operation {
  readonly uri: string
  readonly key: string
  readonly operation: string
  readonly signal?: AbortSignal
}

/** Counts the failures of one operation since it last got anywhere, and waits between them. */
export class Outage {
  #attempts = 0
  #since: number | undefined

  constructor(
    private readonly policy: RetryPolicy,
    private readonly what: Operation,
  ) {}

  /** Something came through: the next failure is the first of another outage. */
  end(): void {
    this.#attempts = 0
    this.#since = undefined
  }

  /** Waits before the next attempt. Throws `StoreUnavailable` when the budget is used up, and the reason of an abort. */
  async wait(error: Error): Promise<void> {
    const { uri, key, operation, signal } = this.what
    signal?.throwIfAborted()
    const now = performance.now()
    this.#since ??= now
    this.#attempts++
    const elapsedMs = now - this.#since
    const delayMs = jitteredDelayMs(this.policy, this.#attempts)
    if (elapsedMs + delayMs > this.policy.outageBudgetMs) {
      throw new StoreUnavailable(uri, key, operation, this.#attempts, elapsedMs, error)
    }
    this.policy.onRetry({ uri, key, operation, attempts: this.#attempts, elapsedMs, delayMs, error })
    await pause(delayMs, signal)
  }
}

/** Half of the wait is fixed and half random, so that many callers neither hammer a returning server nor come in step. */
function jitteredDelayMs({ firstDelayMs, longestDelayMs }: RetryPolicy, attempts: number): number {
  const longest = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempts - 1, 30))
  return longest * (0.5 + Math.random() / 2)
}
