import { afterAll, beforeAll, beforeEach } from 'vitest'
import { ToolNotAvailable } from '../servers/cached-tools.ts'

/**
 * Starts what the tests of a suite need, and ends it after them. Where it cannot be had on this machine, the tests are
 * skipped with the reason. Call it within `describe`; what it gives can be called within tests.
 */
export function startedForSuite<T extends { stop(): Promise<void> }>(start: () => Promise<T>): () => T {
  let started: T | undefined
  let missing: string | undefined
  beforeAll(async () => {
    try {
      started = await start()
    } catch (error) {
      if (!(error instanceof ToolNotAvailable)) throw error
      missing = error.message
    }
  })
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing)
  })
  afterAll(async () => {
    await started?.stop()
  })
  return () => {
    if (!started) throw new Error('It has not been started yet.')
    return started
  }
}
