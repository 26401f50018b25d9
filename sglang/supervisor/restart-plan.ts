export interface RestartBudget {
  /** Waits before the nth restart in a row. */
  backOffMs: readonly number[]
  /** So many restarts … */
  restarts: number
  /** … within this time at most; then none until the oldest of them is that long ago. */
  withinMs: number
  /** A server that was well for so long starts counting anew. */
  steadyAfterMs: number
}

export const defaultRestartBudget: RestartBudget = {
  backOffMs: [0, 5_000, 15_000, 60_000],
  restarts: 5,
  withinMs: 30 * 60_000,
  steadyAfterMs: 10 * 60_000,
}

/** When a server that ended may be started again. */
export class RestartPlan {
  #restarts: number[] = []
  #inARow = 0
  #upSince: number | undefined

  constructor(private readonly budget: RestartBudget) {}

  cameUp(now: number): void {
    this.#upSince ??= now
  }

  /** Wait before the restart after an end at `now` (ms). */
  next(now: number): number {
    const { backOffMs, restarts, withinMs, steadyAfterMs } = this.budget
    if (this.#upSince !== undefined && now - this.#upSince >= steadyAfterMs) this.#inARow = 0
    this.#upSince = undefined
    const backOff = backOffMs[Math.min(this.#inARow, backOffMs.length - 1)] ?? 0
    this.#inARow += 1
    this.#restarts = this.#restarts.filter((at) => now - at < withinMs)
    const oldest = this.#restarts.length >= restarts ? this.#restarts.at(-restarts) : undefined
    const wait = Math.max(backOff, oldest === undefined ? 0 : oldest + withinMs - now)
    this.#restarts.push(now + wait)
    return wait
  }
}
