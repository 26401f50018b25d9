import type { Engine } from '../engine/engine.ts'
import { empty, type Reply } from '../http/reply.ts'

/** `/health` and `/health_generate`: generate a token and wait for it, so they never answer at once. */
export async function health(engine: Engine): Promise<Reply> {
  const { healthMs, healthTimeoutMs } = engine.options.edge
  if (!engine.isHealthy) return empty(503)
  const deadlineMs = performance.now() + healthTimeoutMs
  do {
    await new Promise((resolve) => setTimeout(resolve, healthMs))
    if (!engine.clock.isPaused || engine.hang === 'outside') return empty(200)
  } while (performance.now() < deadlineMs)
  return empty(503)
}

/** `/ready`, from 0.5.20 on: at once, and not while paused. */
export function ready(engine: Engine): Reply {
  return empty(engine.isHealthy && !engine.clock.isPaused ? 200 : 503)
}
