import { type UpdateDefinition, WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  type SignalDefinition,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow'
import { type Assignment, assign } from '../domain/assign-shards.ts'
import { type RunRef, type ShardReport, workflowIds } from '../domain/dispatch.ts'
import {
  addEngine,
  drainEngine,
  isFinished,
  isWaitingForEngines,
  nextDueAt,
  type Pool,
  type ProbeResult,
  probeEnded,
  probeStarted,
  probesDue,
  type ShardTask,
  setConcurrency,
  setPaused,
  settleIdentity,
  shardCommitted,
  shardEnded,
  shardExhausted,
  shardsFound,
  startedShards,
} from '../domain/engine-pool.ts'
import type { RunStatus } from '../domain/progress.ts'
import { shardName } from '../domain/run-keys.ts'
import { countShards } from '../domain/shard-ranges.ts'
import type { Spec } from '../domain/spec.ts'
import { dataActivities, engineQuestions, keepingActivities, runActivities } from './activity-groups.ts'
import * as messages from './generate-messages.ts'
import { generateShard } from './generate-shard.ts'

/** How long a stop waits for requests in flight unless it is told otherwise. */
const defaultGraceSeconds = 120

export interface SchedulerOptions {
  ref: RunRef
  spec: Pick<Spec, 'model' | 'timings'>
  pool: Pool
}

/** Carries out what the engine pool decides: starts children, probes engines, listens to reports and controls. */
export class Scheduler {
  readonly #ref: RunRef
  readonly #spec: SchedulerOptions['spec']
  readonly #pool: Pool
  /** Probes under way, to be asked again should this history end before they answer. */
  readonly #probing = new Set<string>()
  /** Grows with everything that may change what to do next. */
  #events = 0
  #alarmAt = Number.POSITIVE_INFINITY
  /** When a stop gives up what is still in flight. */
  #stopAt = 0
  /** Children started within this history, and of those the ones whose start is not accepted yet. */
  #started = 0
  #starting = 0

  constructor({ ref, spec, pool }: SchedulerOptions) {
    this.#ref = ref
    this.#spec = spec
    this.#pool = pool
    this.#listen()
  }

  get started(): number {
    return this.#started
  }

  get isFinished(): boolean {
    return isFinished(this.#pool)
  }

  /** Somebody wants the run to end with what it has. */
  get isStopping(): boolean {
    return this.#pool.isStopping
  }

  get status(): RunStatus {
    if (this.#pool.isStopping) return 'stopping'
    if (this.#pool.isPaused) return 'paused'
    return isWaitingForEngines(this.#pool) ? 'waiting for engines' : 'generating'
  }

  /** The pool as the next history takes it over: every start accepted, and probes that were under way due again. */
  async handOver(): Promise<Pool> {
    await condition(() => this.#starting === 0)
    for (const queue of this.#probing) {
      const engine = this.#pool.engines.find((candidate) => candidate.queue === queue)
      if (engine) engine.probeAt = Date.now()
    }
    return this.#pool
  }

  /** Does what there is to do now, then waits until something happens or time gives something to do. */
  async step(): Promise<void> {
    const seen = this.#events
    for (const queue of probesDue(this.#pool, Date.now())) void this.#probe(queue)
    // Not awaited: a start that takes long must not hold back the other engines.
    for (const assignment of assign(this.#pool, Date.now())) void this.#dispatch(assignment)
    await this.#sealQuarantined()
    this.#setAlarm(nextDueAt(this.#pool, Date.now()))
    await condition(() => this.#events !== seen)
  }

  /** Takes over what the store says, and finds shards whose report never came. */
  async reconcile(): Promise<void> {
    const inFlight = this.#pool.inFlight.map(({ shard, epoch }) => ({ shard, epoch }))
    const shards = inFlight.map(({ shard }) => shard)
    const lost = shards.length > 0 ? await runActivities.findLostShards({ run: this.#ref.run, shards }) : []
    // Read after the workflows: whatever they committed before they closed is seen here.
    const { done } = await runActivities.readRunState(this.#ref)
    shardsFound(this.#pool, done)
    for (const { shard, epoch } of inFlight) {
      if (lost.includes(shard)) this.#ended({ shard, epoch, outcome: 'handedBack', why: 'its workflow is gone' })
    }
    this.#events += 1
  }

  /**
   * Ends the run with what it has: waits for requests in flight as long as the grace time lasts, gives up the rest, and brings
   * what half-done shards have into the store.
   */
  async stop(): Promise<void> {
    await condition(() => this.#pool.inFlight.length === 0, Math.max(1, this.#stopAt - Date.now()))
    await this.cancelShards()
    await Promise.all(startedShards(this.#pool).map((task) => this.#keepSamples(task)))
  }

  /** From the host that has the journals; from the checkpoints in the store when that is gone. */
  async #keepSamples({ shard, lastEngine }: ShardTask): Promise<void> {
    const kept = { ref: this.#ref, shard }
    try {
      if (lastEngine) return await keepingActivities(lastEngine, this.#spec.timings).keepSamples(kept)
    } catch {
      // Below.
    }
    await dataActivities().keepSamples(kept)
  }

  /** Cancels every dispatch, and waits until each has reported, so that nothing runs on behind the run's back. */
  async cancelShards(): Promise<void> {
    setPaused(this.#pool, true)
    const cancelling = this.#pool.inFlight.map(async ({ shard }) => {
      try {
        await this.#shardHandle(shard).cancel()
      } catch {
        // Closed already: its report is on the way, or reconcile would have found it.
      }
    })
    await Promise.all(cancelling)
    await condition(() => this.#pool.inFlight.length === 0, '2 minutes')
  }

  #listen(): void {
    setHandler(messages.shardExhaustedSignal, ({ shard, epoch }) => {
      shardExhausted(this.#pool, shard, epoch)
      this.#events += 1
    })
    setHandler(messages.shardReportedSignal, (report) => this.#ended(report))
    setHandler(messages.progressQuery, () => this.#progress())
    this.#control(messages.pauseSignal, messages.pauseUpdate, anything, () => this.#pause())
    this.#control(messages.resumeSignal, messages.resumeUpdate, anything, () => setPaused(this.#pool, false))
    this.#control(messages.stopSignal, messages.stopUpdate, anything, (request) => this.#beginStop(request))
    this.#control(messages.addEngineSignal, messages.addEngineUpdate, engineNamed, ({ engine }) =>
      addEngine(this.#pool, engine, Date.now()),
    )
    this.#control(messages.drainEngineSignal, messages.drainEngineUpdate, engineNamed, ({ engine }) =>
      this.#drainEngine(engine),
    )
    this.#control(messages.setConcurrencySignal, messages.setConcurrencyUpdate, concurrencyGiven, (request) =>
      this.#setConcurrency(request),
    )
  }

  /**
   * Hears a control as a signal and as an update, which answers with how things stand then. What can't be used is refused
   * where somebody waits for an answer, and passed over where nobody does.
   */
  #control<Args extends unknown[]>(
    signal: SignalDefinition<Args>,
    update: UpdateDefinition<messages.SchedulerProgress, NoInfer<Args>>,
    problemOf: (...args: NoInfer<Args>) => string | undefined,
    act: (...args: NoInfer<Args>) => Promise<void> | void,
  ): void {
    const handle = async (...args: Args): Promise<messages.SchedulerProgress> => {
      await act(...args)
      this.#events += 1
      return this.#progress()
    }
    setHandler(signal, async (...args: Args) => {
      const problem = problemOf(...args)
      if (problem) log.warn(`signal ${signal.name} was passed over: ${problem}`)
      else await handle(...args)
    })
    setHandler(update, handle, {
      validator: (...args: Args) => {
        const problem = problemOf(...args)
        if (problem) throw new Error(problem)
      },
    })
  }

  #ended(report: ShardReport): void {
    shardEnded(this.#pool, report, Date.now())
    this.#events += 1
  }

  async #dispatch({ task, engine, canDefer, concurrency }: Assignment): Promise<void> {
    const { identity } = this.#pool
    if (!identity) throw new Error('A shard was assigned before it was known what the engines serve.')
    const { heartbeatSeconds, scheduleToStartSeconds } = this.#spec.timings
    const { shard, epoch } = task
    this.#started += 1
    this.#starting += 1
    try {
      await CancellationScope.nonCancellable(() =>
        startChild(generateShard, {
          workflowId: workflowIds.shard(this.#ref.run, shardName(shard)),
          // It outlives this history, and reports by signal to whichever run of this workflow is there.
          parentClosePolicy: ParentClosePolicy.ABANDON,
          args: [
            {
              ref: this.#ref,
              shard,
              epoch,
              engine,
              identity,
              canDefer,
              heartbeatSeconds,
              scheduleToStartSeconds,
              scheduler: workflowInfo().workflowId,
              ...(concurrency !== undefined && { concurrency }),
            },
          ],
        }),
      )
    } catch (error) {
      // A dispatch of before a reset is still under way: its report frees the shard.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    } finally {
      this.#starting -= 1
    }
  }

  async #probe(queue: string): Promise<void> {
    probeStarted(this.#pool, queue)
    this.#probing.add(queue)
    let result: ProbeResult
    try {
      result = await engineQuestions(queue, this.#spec.timings).probeEngine()
    } catch {
      result = { answered: false, why: 'its worker does not answer' }
    }
    this.#probing.delete(queue)
    probeEnded(this.#pool, queue, result, Date.now())
    settleIdentity(this.#pool, this.#spec.model, Date.now())
    this.#events += 1
  }

  /** Ends the prompts of shards that were set aside as failures, so that the run accounts for them and goes on. */
  async #sealQuarantined(): Promise<void> {
    for (const { shard, epoch } of [...this.#pool.quarantined]) {
      const { identity } = this.#pool
      if (!identity) return
      await dataActivities().sealShard({ ref: this.#ref, shard, epoch, identity, reason: 'shard_quarantined' })
      shardCommitted(this.#pool, shard)
    }
  }

  async #pause(): Promise<void> {
    setPaused(this.#pool, true)
    await this.#release(this.#busyEngines())
  }

  async #beginStop({ graceSeconds = defaultGraceSeconds }: messages.StopRequest = {}): Promise<void> {
    setPaused(this.#pool, true)
    this.#pool.isStopping = true
    this.#stopAt = Date.now() + graceSeconds * 1000
    this.#events += 1
    await this.#release(this.#busyEngines())
  }

  async #drainEngine(queue: string): Promise<void> {
    drainEngine(this.#pool, queue, Date.now())
    this.#events += 1
    await this.#release([queue])
  }

  /** Dispatches to come carry it; those under way are told at once. */
  async #setConcurrency({ engine, concurrency }: messages.ConcurrencyRequest): Promise<void> {
    if (!setConcurrency(this.#pool, engine, concurrency)) return
    const setting = concurrency === undefined ? {} : { concurrency }
    await Promise.allSettled([engineQuestions(engine, this.#spec.timings).setConcurrency(setting)])
  }

  #busyEngines(): string[] {
    return [...new Set(this.#pool.inFlight.map(({ engine }) => engine))]
  }

  /** Asks engines to hand back what they have not started. One that does not answer has nothing to hand back. */
  async #release(engines: string[]): Promise<void> {
    const { run } = this.#ref
    await Promise.allSettled(
      engines.map((engine) => engineQuestions(engine, this.#spec.timings).releaseShards({ run })),
    )
  }

  #setAlarm(at: number | undefined): void {
    if (at === undefined || at >= this.#alarmAt) return
    this.#alarmAt = at
    void this.#ring(at)
  }

  async #ring(at: number): Promise<void> {
    await sleep(Math.max(1, at - Date.now()))
    if (this.#alarmAt === at) this.#alarmAt = Number.POSITIVE_INFINITY
    this.#events += 1
  }

  #shardHandle(shard: number) {
    return getExternalWorkflowHandle(workflowIds.shard(this.#ref.run, shardName(shard)))
  }

  #progress(): messages.SchedulerProgress {
    const { options, done, inFlight, waiting, quarantined, engines } = this.#pool
    const total = options.shards
    return {
      status: this.status,
      shards: {
        total,
        done: countShards(done),
        inFlight: inFlight.length,
        waiting: waiting.length,
        quarantined: quarantined.length,
      },
      engines: engines.map(({ queue, state, why, strikes }) => ({
        ...{ queue, state, strikes },
        ...(why && { why }),
        shards: inFlight.filter(({ engine }) => engine === queue).map(({ shard }) => shard),
      })),
      inFlight: inFlight.map(({ shard, epoch, engine, isExhausted }) => ({ shard, epoch, engine, isExhausted })),
    }
  }
}

function anything(..._: unknown[]): undefined {
  return undefined
}

function engineNamed(request: Partial<messages.EngineRequest> | undefined): string | undefined {
  const isNamed = typeof request?.engine === 'string' && request.engine !== ''
  return isNamed ? undefined : 'it needs the task queue of an engine, such as {"engine":"gpu-0"}'
}

function concurrencyGiven(request: Partial<messages.ConcurrencyRequest> | undefined): string | undefined {
  const { concurrency } = request ?? {}
  const isUsable = concurrency === undefined || (Number.isInteger(concurrency) && concurrency >= 1)
  return (
    engineNamed(request) ??
    (isUsable ? undefined : `concurrency is ${concurrency}; it must be a whole number of 1 or more`)
  )
}
