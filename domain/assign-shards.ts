import type { Pool, PooledEngine, ShardTask } from './engine-pool.ts'
import { hasShard } from './shard-ranges.ts'

/** Which shard goes where next, by the state of the engine pool. */

export interface Assignment {
  task: ShardTask
  engine: string
  /** Whether prompts may be left for another engine to try. */
  canDefer: boolean
  /** Requests in flight that the engine is to be given; undefined: what it reports itself. */
  concurrency?: number
}

/** Shards to dispatch now. They count as in flight from here on. */
export function assign(pool: Pool, now: number): Assignment[] {
  if (pool.isPaused) return []
  const assignments: Assignment[] = []
  for (;;) {
    const next = nextAssignment(pool, now)
    if (!next) return assignments
    pool.inFlight.push({ ...next.task, engine: next.engine, isExhausted: false, dispatchedAt: now })
    assignments.push(next)
  }
}

export function freeLanes(pool: Pool, engine: PooledEngine): number {
  if (engine.state !== 'ready' || !pool.identity) return 0
  const held = pool.inFlight.filter((flight) => flight.engine === engine.queue && !flight.isExhausted).length
  return Math.max(0, pool.options.lanes - held)
}

function nextAssignment(pool: Pool, now: number): Assignment | undefined {
  const free = pool.engines.filter((engine) => freeLanes(pool, engine) > 0)
  if (free.length === 0) return undefined
  for (const task of pool.waiting) {
    if (task.notBefore > now) continue
    const engine = bestEngine(pool, free, task)
    if (!engine) continue
    pool.waiting = pool.waiting.filter((other) => other !== task)
    return assignmentOf(pool, task, engine)
  }
  const task = nextUndispatched(pool)
  const engine = task && bestEngine(pool, free, task)
  if (!task || !engine) return undefined
  pool.cursor = task.shard + 1
  return assignmentOf(pool, task, engine)
}

function assignmentOf(pool: Pool, task: ShardTask, { queue, concurrency }: PooledEngine): Assignment {
  const canDefer = isAnotherLeft(pool, task, queue)
  return { task, engine: queue, canDefer, ...(concurrency !== undefined && { concurrency }) }
}

function nextUndispatched(pool: Pool): ShardTask | undefined {
  let shard = pool.cursor
  while (shard < pool.options.shards && isKnown(pool, shard)) shard += 1
  if (shard >= pool.options.shards) return undefined
  return { shard, epoch: pool.epochBase + 1, failedOn: [], triedOn: [], failures: 0, notBefore: 0 }
}

function isKnown(pool: Pool, shard: number): boolean {
  const isShard = (task: { shard: number }) => task.shard === shard
  return (
    hasShard(pool.done, shard) ||
    pool.inFlight.some(isShard) ||
    pool.waiting.some(isShard) ||
    pool.quarantined.some(isShard)
  )
}

/** The engine with the most free lanes, of those that have not failed or tried the shard yet; else of all, once none is left. */
function bestEngine(pool: Pool, free: PooledEngine[], task: ShardTask): PooledEngine | undefined {
  const isFresh = (engine: PooledEngine) =>
    !task.failedOn.includes(engine.queue) && !task.triedOn.includes(engine.queue)
  const isFreshOneWorking = pool.engines.some((engine) => engine.state === 'ready' && isFresh(engine))
  const candidates = isFreshOneWorking ? free.filter(isFresh) : free
  return candidates.reduce<PooledEngine | undefined>(
    (best, engine) => (best && freeLanes(pool, best) >= freeLanes(pool, engine) ? best : engine),
    undefined,
  )
}

function isAnotherLeft(pool: Pool, task: ShardTask, chosen: string): boolean {
  return pool.engines.some(
    (engine) =>
      engine.queue !== chosen &&
      engine.state === 'ready' &&
      !task.triedOn.includes(engine.queue) &&
      !task.failedOn.includes(engine.queue),
  )
}
