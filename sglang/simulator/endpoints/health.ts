import type { Engine } from '../engine/engine.ts'
import { empty, type Reply } from '../http/reply.ts'

/** `/health` and `/health_generate`: generate a token and wait for it, so they never answer at once. */
export async function health(engine: Engine): Promise<Reply> {
  const { healthMs, healthTimeoutMs } = engine.options.edge
  if (!engine.isReady) return empty(503)
  const deadlineMs = performance.now() + healthTimeoutMs
  do {
    await new Promise((resolve) => setTimeout(resolve, healthMs))
    if (!engine.clock.isPaused) return empty(200)
  } while (performance.now() < deadlineMs)
  return empty(503)
}
