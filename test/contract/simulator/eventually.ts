import { expect } from 'vitest'

/** Waits until something holds, with patience for a busy machine. */
export const eventually = <Value>(of: () => Value) => expect.poll(of, { timeout: 15_000, interval: 5 })
