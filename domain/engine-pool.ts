import { type EngineIdentity, identityDifference, mostFrequentIdentity } from './engine-identity.ts'
import { addShard, countShards, type ShardRanges } from './shard-ranges.ts'

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
  /** Requests in flight that were asked for; undefined: what the engine itself reports. */
  concurrency?: number
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
  /** Where its journals lie: the engine of the last dispatch. */
  lastEngine?: string
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
  /** The run is to end with what it has. */
  isStopping: boolean
  /** What the run's engines serve; fixed by the first round of probes. */
  identity?: EngineIdentity
  /** Added to every epoch, so that epochs grow over restarts of the scheduler. */
  epochBase: number
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

export function createPool(
  options: PoolOptions,
  engines: { queue: string; concurrency?: number }[],
  now: number,
  epochBase = 0,
): Pool {
  return {
    options,
    engines: engines.map(({ queue, concurrency }) => newEngine(queue, now, concurrency)),
    cursor: 0,
    waiting: [],
    inFlight: [],
    done: [],
    quarantined: [],
    isPaused: false,
    isStopping: false,
    epochBase,
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
  if (!result.accepting) return setState(engine, 'busy', now, result.why ?? 'another run has all its places', retryAt)
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

/** Sets how many requests may be in flight on an engine; undefined: what it reports itself. Says whether it is known. */
export function setConcurrency(pool: Pool, queue: string, concurrency: number | undefined): boolean {
  const engine = pool.engines.find((candidate) => candidate.queue === queue)
  if (engine && concurrency === undefined) delete engine.concurrency
  else if (engine && concurrency !== undefined) engine.concurrency = concurrency
  return engine !== undefined
}

/** Shards that were dispatched and are not committed: what they have is in journals. */
export function startedShards(pool: Pool): ShardTask[] {
  return [...pool.waiting, ...pool.quarantined].filter((task) => task.lastEngine !== undefined)
}

/** Adds an engine, or takes a draining one back. */
export function addEngine(pool: Pool, queue: string, now: number): void {
  const known = pool.engines.find((engine) => engine.queue === queue)
  if (!known) pool.engines.push(newEngine(queue, now))
  else Object.assign(known, newEngine(queue, now, known.concurrency))
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

function flightOf(pool: Pool, shard: number, epoch: number): InFlightShard | undefined {
  return pool.inFlight.find((flight) => flight.shard === shard && flight.epoch === epoch)
}

function nextDispatch(flight: InFlightShard): ShardTask {
  const { shard, epoch, failedOn, triedOn, failures, engine } = flight
  return {
    shard,
    epoch: epoch + 1,
    failedOn: [...failedOn],
    triedOn: [...triedOn],
    failures,
    notBefore: 0,
    lastEngine: engine,
  }
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

function newEngine(queue: string, now: number, concurrency?: number): PooledEngine {
  const engine: PooledEngine = { queue, state: 'unknown', since: now, strikes: 0, probeAt: now, failedProbes: 0 }
  return concurrency === undefined ? engine : { ...engine, concurrency }
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
