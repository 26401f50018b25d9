import { type EngineIdentity, identityDifference, mostFrequentIdentity } from './engine-identity.ts'
import { addShard, countShards, hasShard, type ShardRanges } from './shard-ranges.ts'

/**
 * Which shard goes to which engine: a pure state machine that the generate workflow feeds with what happened and whose
 * `assign` says what to do next. The state is plain JSON, so that it is carried over when the workflow continues as new.
 */

export type EngineState =
  /** Not heard of yet: probed before it gets work. */
  | 'unknown'
  | 'ready'
  /** Its worker answers but has no place left: another run uses it too. */
  | 'busy'
  /** It lost a shard; probed before it gets work again. */
  | 'suspect'
  /** Its worker does not answer. */
  | 'offline'
  /** Serves another model than the run's, or is set up wrongly. */
  | 'refused'
  /** Gets no new work; what it started may end. */
  | 'draining'

export interface PooledEngine {
  queue: string
  state: EngineState
  /** Why it is in this state, for people. */
  why?: string
  /** Since when (ms since the epoch). */
  since: number
  /** Shards lost in a row. */
  strikes: number
  /** When to ask it how it is; undefined: no need to. */
  probeAt?: number
  /** Probes in a row that did not bring it back. */
  failedProbes: number
  identity?: EngineIdentity
}

/** A shard that waits for an engine, with what is known of its earlier dispatches. */
export interface ShardTask {
  shard: number
  /** Of the dispatch to come. */
  epoch: number
  /** Engines that failed it. */
  failedOn: string[]
  /** Engines on which prompts of it were tried without success: others are asked first. */
  triedOn: string[]
  /** Dispatches that failed, on whichever engine. */
  failures: number
  /** Not to be dispatched before (ms since the epoch). */
  notBefore: number
}

export interface InFlightShard extends ShardTask {
  engine: string
  /** All its prompts have been started: it holds no lane any more. */
  isExhausted: boolean
  dispatchedAt: number
}

export interface PoolOptions {
  shards: number
  /** Shards with unstarted prompts on one engine at a time. */
  lanes: number
  /** Waits before the nth probe in a row (ms). */
  probeBackOffMs: number[]
  /** Different engines that must fail a shard before it is set aside. */
  quarantineAfter: number
  /** Failed dispatches, on whichever engine, after which a shard is set aside: the way out where there are few engines. */
  maxShardFailures: number
  /** Waits before the nth dispatch of a shard that failed (ms). */
  retryBackOffMs: number[]
}

export interface Pool {
  options: PoolOptions
  engines: PooledEngine[]
  /** The next shard that was never dispatched. */
  cursor: number
  /** Shards to dispatch again, in shard order. */
  waiting: ShardTask[]
  inFlight: InFlightShard[]
  done: ShardRanges
  /** Set aside; to be sealed with failures for what is unfinished. */
  quarantined: ShardTask[]
  isPaused: boolean
  /** What the run's engines serve; fixed by the first round of probes. */
  identity?: EngineIdentity
  /** Added to every epoch, so that epochs grow over restarts of the scheduler. */
  epochBase: number
}

export interface Assignment {
  task: ShardTask
  engine: string
  /** Whether prompts may be left for another engine to try. */
  canDefer: boolean
}

/** How a dispatch ended. */
export type ShardOutcome =
  | 'committed'
  /** Stopped early on request; nobody's fault. */
  | 'handedBack'
  /** Its worker shut down in good order; nobody's fault either. */
  | 'workerLeft'
  /** Prompts are left that should be tried on another engine. */
  | 'deferred'
  /** No worker took it within the schedule-to-start time. */
  | 'notStarted'
  /** The engine or its worker died or hung. */
  | 'engineLost'
  /** The engine can't serve this run at all: wrong model, key or version. */
  | 'engineRefused'
  /** The shard itself could not be done. */
  | 'failed'

export type ProbeResult =
  | { answered: true; accepting: boolean; healthy: boolean; identity?: EngineIdentity; refusal?: string; why?: string }
  | { answered: false; why: string }

export function createPool(options: PoolOptions, queues: string[], now: number, epochBase = 0): Pool {
  return {
    options,
    engines: queues.map((queue) => newEngine(queue, now)),
    cursor: 0,
    waiting: [],
    inFlight: [],
    done: [],
    quarantined: [],
    isPaused: false,
    epochBase,
  }
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

/** All prompts of a shard have been started: its lane is free. */
export function shardExhausted(pool: Pool, shard: number, epoch: number): void {
  const flight = flightOf(pool, shard, epoch)
  if (flight) flight.isExhausted = true
}

/** A dispatch ended. Reports of dispatches that are not in flight any more change nothing. */
export function shardEnded(
  pool: Pool,
  report: { shard: number; epoch: number; outcome: ShardOutcome; why?: string },
  now: number,
): void {
  // The commit record is the truth, whichever dispatch wrote it.
  if (report.outcome === 'committed') return shardCommitted(pool, report.shard)
  const flight = flightOf(pool, report.shard, report.epoch)
  if (!flight) return
  pool.inFlight = pool.inFlight.filter((other) => other !== flight)
  const engine = pool.engines.find((candidate) => candidate.queue === flight.engine)
  const task = nextDispatch(flight)
  const why = report.why ?? ''
  switch (report.outcome) {
    case 'handedBack':
      break
    case 'deferred':
      addOnce(task.triedOn, flight.engine)
      break
    case 'workerLeft':
    case 'notStarted':
      if (engine) setState(engine, 'suspect', now, why, now)
      break
    case 'engineLost':
      addFailure(pool, task, flight.engine, now)
      if (engine) strike(pool, engine, now, why)
      break
    case 'engineRefused':
      if (engine) setState(engine, 'refused', now, why, now + probeBackOff(pool, engine))
      break
    case 'failed':
      addFailure(pool, task, flight.engine, now)
      break
  }
  if (isBeyondHope(pool, task)) pool.quarantined.push(task)
  else waitAgain(pool, task)
}

/** A shard is in the store, whole. */
export function shardCommitted(pool: Pool, shard: number): void {
  addShard(pool.done, shard)
  const flight = pool.inFlight.find((candidate) => candidate.shard === shard)
  const engine = pool.engines.find((candidate) => candidate.queue === flight?.engine)
  if (engine) engine.strikes = 0
  pool.inFlight = pool.inFlight.filter((candidate) => candidate.shard !== shard)
  pool.waiting = pool.waiting.filter((task) => task.shard !== shard)
  pool.quarantined = pool.quarantined.filter((task) => task.shard !== shard)
}

/** Engines that are due to be asked how they are. */
export function probesDue(pool: Pool, now: number): string[] {
  return pool.engines
    .filter((engine) => engine.probeAt !== undefined && engine.probeAt <= now)
    .map((engine) => engine.queue)
}

/** When time alone next gives something to do: a probe, or a shard that was held back. Undefined: never. */
export function nextDueAt(pool: Pool, now: number): number | undefined {
  const probes = pool.engines.flatMap((engine) => engine.probeAt ?? [])
  const heldBack = pool.waiting.map((task) => task.notBefore).filter((time) => time > now)
  const times = [...probes, ...heldBack]
  return times.length > 0 ? Math.min(...times) : undefined
}

/** Marks a probe as under way, so that it is not due again. */
export function probeStarted(pool: Pool, queue: string): void {
  const engine = pool.engines.find((candidate) => candidate.queue === queue)
  if (engine) delete engine.probeAt
}

export function probeEnded(pool: Pool, queue: string, result: ProbeResult, now: number): void {
  const engine = pool.engines.find((candidate) => candidate.queue === queue)
  if (!engine || engine.state === 'draining') return
  const retryAt = now + probeBackOff(pool, engine)
  engine.failedProbes += 1
  if (!result.answered) return setState(engine, 'offline', now, result.why, retryAt)
  if (result.refusal) return setState(engine, 'refused', now, result.refusal, retryAt)
  if (!result.healthy) return setState(engine, 'suspect', now, result.why ?? 'its engine does not answer', retryAt)
  if (result.identity) engine.identity = result.identity
  if (!result.accepting) return setState(engine, 'busy', now, 'another run has all its places', retryAt)
  engine.failedProbes = 0
  setState(engine, 'ready', now)
}

/**
 * Settles what the run's engines serve, once the first round of probes is over: what most of them serve, of those with the
 * model that the spec wants. Engines that serve something else are refused.
 */
export function settleIdentity(pool: Pool, wantedModel: string | undefined, now: number): void {
  const isFirstRoundOver = pool.engines.every((engine) => engine.state !== 'unknown')
  const ready = pool.engines.filter((engine) => engine.state === 'ready')
  const candidates = ready
    .flatMap((engine) => engine.identity ?? [])
    .filter(({ model }) => !wantedModel || model === wantedModel)
  if (!pool.identity && isFirstRoundOver) {
    const settled = mostFrequentIdentity(candidates)
    if (settled) pool.identity = settled
  }
  for (const engine of ready) {
    const difference = refusalOf(engine, pool.identity, wantedModel)
    if (difference) setState(engine, 'refused', now, difference, now + probeBackOff(pool, engine))
  }
}

/** No engine gets new work from here on, or work goes on. */
export function setPaused(pool: Pool, isPaused: boolean): void {
  pool.isPaused = isPaused
}

/** Adds an engine, or takes a draining one back. */
export function addEngine(pool: Pool, queue: string, now: number): void {
  const known = pool.engines.find((engine) => engine.queue === queue)
  if (!known) pool.engines.push(newEngine(queue, now))
  else Object.assign(known, newEngine(queue, now))
}

export function drainEngine(pool: Pool, queue: string, now: number): void {
  const engine = pool.engines.find((candidate) => candidate.queue === queue)
  if (engine) setState(engine, 'draining', now, 'asked to')
}

/** Takes over what the store says: shards that are done already. */
export function shardsFound(pool: Pool, done: ShardRanges): void {
  for (const [first, last] of done) for (let shard = first; shard <= last; shard++) shardCommitted(pool, shard)
}

export function isFinished(pool: Pool): boolean {
  return countShards(pool.done) >= pool.options.shards
}

/** Work is left, and no engine is there to do it. */
export function isWaitingForEngines(pool: Pool): boolean {
  return !isFinished(pool) && !pool.isPaused && !pool.engines.some((engine) => engine.state === 'ready')
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
    return { task, engine: engine.queue, canDefer: isAnotherLeft(pool, task, engine) }
  }
  const task = nextUndispatched(pool)
  const engine = task && bestEngine(pool, free, task)
  if (!task || !engine) return undefined
  pool.cursor = task.shard + 1
  return { task, engine: engine.queue, canDefer: isAnotherLeft(pool, task, engine) }
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

function isAnotherLeft(pool: Pool, task: ShardTask, chosen: PooledEngine): boolean {
  return pool.engines.some(
    (engine) =>
      engine !== chosen &&
      engine.state === 'ready' &&
      !task.triedOn.includes(engine.queue) &&
      !task.failedOn.includes(engine.queue),
  )
}

function flightOf(pool: Pool, shard: number, epoch: number): InFlightShard | undefined {
  return pool.inFlight.find((flight) => flight.shard === shard && flight.epoch === epoch)
}

function nextDispatch(flight: InFlightShard): ShardTask {
  const { shard, epoch, failedOn, triedOn, failures } = flight
  return { shard, epoch: epoch + 1, failedOn: [...failedOn], triedOn: [...triedOn], failures, notBefore: 0 }
}

function addFailure(pool: Pool, task: ShardTask, engine: string, now: number): void {
  const { retryBackOffMs } = pool.options
  addOnce(task.failedOn, engine)
  task.notBefore = now + (retryBackOffMs[Math.min(task.failures, retryBackOffMs.length - 1)] ?? 0)
  task.failures += 1
}

function isBeyondHope(pool: Pool, task: ShardTask): boolean {
  const { quarantineAfter, maxShardFailures } = pool.options
  return task.failedOn.length >= quarantineAfter || task.failures >= maxShardFailures
}

function waitAgain(pool: Pool, task: ShardTask): void {
  pool.waiting = [...pool.waiting, task].sort((a, b) => a.shard - b.shard)
}

function strike(pool: Pool, engine: PooledEngine, now: number, why: string): void {
  engine.strikes += 1
  if (engine.state !== 'draining') setState(engine, 'suspect', now, why, now + probeBackOff(pool, engine))
}

function probeBackOff(pool: Pool, engine: PooledEngine): number {
  const { probeBackOffMs } = pool.options
  return probeBackOffMs[Math.min(engine.failedProbes, probeBackOffMs.length - 1)] ?? 0
}

function refusalOf(
  engine: PooledEngine,
  runs: EngineIdentity | undefined,
  wantedModel: string | undefined,
): string | undefined {
  if (runs) return identityDifference(engine.identity, runs)
  if (!wantedModel || engine.identity?.model === wantedModel) return undefined
  return `it serves ${engine.identity?.model}, the spec wants ${wantedModel}`
}

function newEngine(queue: string, now: number): PooledEngine {
  return { queue, state: 'unknown', since: now, strikes: 0, probeAt: now, failedProbes: 0 }
}

function setState(engine: PooledEngine, state: EngineState, now: number, why?: string, probeAt?: number): void {
  if (engine.state !== state) engine.since = now
  engine.state = state
  if (why === undefined) delete engine.why
  else engine.why = why
  if (probeAt === undefined) delete engine.probeAt
  else engine.probeAt = probeAt
}

function addOnce(list: string[], entry: string): void {
  if (!list.includes(entry)) list.push(entry)
}
