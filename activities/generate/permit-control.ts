import type { EngineLoad } from '../../sglang/engine-client.ts'

/** Used where an engine does not say how much it runs at a time. */
export const assumedMaxRunning = 32

/**
 * Requests in flight that keep an engine full: its own cap, and enough more that its queue is never empty when a request
 * ends. More than that only adds waiting, and lost work when it crashes.
 */
export function permitsFor(maxRunning: number): number {
  return maxRunning + Math.max(4, Math.ceil(maxRunning * 0.12))
}

/** Permits while an engine that has just come up is being filled: a quarter at first, all of them after `rampMs`. */
export function rampedPermits(permits: number, sinceOpenMs: number, rampMs: number): number {
  if (sinceOpenMs >= rampMs) return permits
  return Math.max(1, Math.ceil(permits * (0.25 + (0.75 * sinceOpenMs) / rampMs)))
}

/**
 * The next limit, from what the engine reports: lower when much of it waits (the engine runs less than it said), higher
 * again when its queue is empty although it could run more.
 */
export function adaptedPermits(limit: number, maxRunning: number, load: EngineLoad): number {
  const most = permitsFor(maxRunning)
  if (load.waiting > Math.max(8, 0.25 * maxRunning)) return Math.max(1, Math.floor(limit * 0.9))
  if (load.waiting < 1 && load.running < maxRunning) return Math.min(most, limit + Math.ceil(maxRunning / 16))
  return Math.min(most, limit)
}
