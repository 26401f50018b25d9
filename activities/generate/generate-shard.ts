import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sum } from '../../domain/counts.ts'
import type { ShardDispatch } from '../../domain/dispatch.ts'
import { identityDifference } from '../../domain/engine-identity.ts'
import { settingsFor } from '../../domain/generation.ts'
import type { ShardLive } from '../../domain/live.ts'
import type { Prompt } from '../../domain/prompt.ts'
import { specOfShard } from '../../domain/retry.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import type { Spec } from '../../domain/spec.ts'
import { InFlight } from '../../sglang/in-flight.ts'
import type { ObjectStore } from '../../store/store.ts'
import { readRetryRounds } from '../retry/failures.ts'
import { readRunRecord } from '../run-record.ts'
import { type PlacedSamples, readPlacedSamples } from '../upload/sample-objects.ts'
import { CheckpointWriter, restoreCheckpoints } from './checkpoints.ts'
import { type AskSettings, completePrompt, EngineRefused } from './complete-prompt.ts'
import type { EngineRuntime } from './engine-runtime.ts'
import type { EngineTimings } from './engine-timings.ts'
import { Journal, type JournalEntry } from './journal.ts'
import { readPrompts } from './shard-prompts.ts'
import { type ShardCounts, ShardRunner } from './shard-runner.ts'
import { readShardState, type ShardState, shardFolder } from './shard-state.ts'

export interface GenerateShardDeps {
  runtime: EngineRuntime
  store: ObjectStore
  /** Folder on the host's scratch disk, shared by the engine workers of the host. */
  scratch: string
  timings: EngineTimings
  /** The shard was taken away: give up what is in flight. */
  cancelled: AbortSignal
  /** Told at once when the last prompt has been started. */
  onExhausted: () => void
  /** Called when prompts begin to be asked, with a function that tells how the whole shard stands. */
  onStart: (standing: () => ShardLive) => void
  log: (message: string, facts?: Record<string, unknown>) => void
}

/**
 * Asks an engine for the prompts of a shard that have no outcome yet, on this host or in the store, and journals each.
 * Rejects with `EngineLost`, `EngineRefused` or `Cancelled`; what was finished until then stays journaled.
 */
export async function generateShard(dispatch: ShardDispatch, deps: GenerateShardDeps): Promise<ShardCounts> {
  const { ref, shard, epoch } = dispatch
  const { store, runtime, scratch } = deps
  const keys = runKeys(ref.run)
  const record = await readRunRecord(store, ref)
  const spec = specOfShard(record.spec, await readRetryRounds(store, ref.run), shard)
  ensureMode(runtime, spec)
  await ensureServes(runtime, dispatch)

  const folder = shardFolder(scratch, ref.run, shardName(shard))
  await mkdir(folder, { recursive: true })
  await restoreCheckpoints(store, keys.checkpoints(shard), folder)
  const { outcomes, attempts } = await readShardState(folder)
  const placed = (await readPlacedSamples({ store, run: ref.run, shard, options: spec })).flatMap(({ facts }) => facts)
  const ended = endedPrompts(outcomes, placed)
  const before = sumEnded([...ended.values()])
  const unfinished = (await readPrompts(store, keys.prompts(shard))).filter(({ promptId }) => !ended.has(promptId))

  const journal = await Journal.create(join(folder, `e${epoch}-${randomUUID().slice(0, 8)}.journal`))
  const checkpoints = new CheckpointWriter(store, keys.checkpoints(shard), journal)
  const engine = runtime.asked()
  const inFlight = new InFlight()
  const runner = new ShardRunner({
    unfinished,
    order: shard,
    permits: runtime.permits,
    journal,
    onExhausted: deps.onExhausted,
    ask: (prompt) =>
      completePrompt(prompt, {
        engine,
        settings: askSettings(prompt, spec, deps.timings),
        earlier: attempts.get(prompt.promptId) ?? [],
        canDefer: dispatch.canDefer,
        cancelled: deps.cancelled,
        inFlight,
        newRid: () => randomUUID().replaceAll('-', ''),
        now: Date.now,
        wait: (ms) => sleep(ms, undefined, { ref: false }),
        random: Math.random,
        onFailedAttempt: (attempt) => deps.log('attempt failed', { ...attempt, promptId: prompt.promptId, shard }),
      }),
  })
  const active = { run: ref.run, shard, epoch, runner, inFlight }
  const onCancel = () => {
    runner.release()
    inFlight.giveUpAll()
  }
  const checkpointTimer = setInterval(() => void saveCheckpoint(checkpoints, deps), deps.timings.checkpointMs)
  deps.cancelled.addEventListener('abort', onCancel, { once: true })
  runtime.shards.add(active)
  try {
    deps.onStart(() => standing(dispatch, before, runner.counts))
    return await runner.run()
  } finally {
    runtime.shards.delete(active)
    clearInterval(checkpointTimer)
    deps.cancelled.removeEventListener('abort', onCancel)
    await journal.close()
  }
}

function ensureMode({ queue, mode }: EngineRuntime, spec: Spec): void {
  if (mode === spec.mode) return
  throw new EngineRefused(
    `the worker of ${queue} speaks the ${mode} API, the spec wants ${spec.mode}: start it with --mode ${spec.mode}`,
  )
}

/** Waits until the engine is well, and refuses it when it does not serve what the run's engines serve. */
async function ensureServes(runtime: EngineRuntime, { identity }: ShardDispatch): Promise<void> {
  if (!runtime.gate.isOpen) await runtime.probe()
  if (!runtime.gate.isOpen) runtime.gate.park(runtime.gate.why)
  await runtime.gate.whenWell()
  const difference = identityDifference(runtime.identity, identity)
  if (difference) throw new EngineRefused(difference)
}

/** Prompts with an outcome, in a journal or uploaded already: a sample in the store outlives the host that it came from. */
function endedPrompts(outcomes: ShardState['outcomes'], placed: PlacedSamples['facts']): Map<string, EndedPrompt> {
  const ended = new Map<string, EndedPrompt>(outcomes)
  for (const fact of placed) ended.set(fact.promptId, { ...fact, kind: 'S' })
  return ended
}

type EndedPrompt = Pick<JournalEntry, 'kind' | 'inputTokens' | 'outputTokens'>

/** What the prompts come to that had ended before this dispatch. */
function sumEnded(ended: EndedPrompt[]): Omit<ShardLive, 'shard' | 'epoch'> {
  const samples = ended.filter(({ kind }) => kind === 'S').length
  return {
    samples,
    failures: ended.length - samples,
    inputTokens: sum(ended, ({ inputTokens }) => inputTokens),
    outputTokens: sum(ended, ({ outputTokens }) => outputTokens),
  }
}

function standing(
  { shard, epoch }: ShardDispatch,
  before: ReturnType<typeof sumEnded>,
  counts: ShardCounts,
): ShardLive {
  return {
    shard,
    epoch,
    samples: before.samples + counts.samples,
    failures: before.failures + counts.failures,
    inputTokens: before.inputTokens + counts.inputTokens,
    outputTokens: before.outputTokens + counts.outputTokens,
  }
}

function askSettings(prompt: Prompt, spec: Spec, { queueMs, perTokenMs }: EngineTimings): AskSettings {
  return {
    ...settingsFor(prompt, spec),
    truncation: spec.truncation,
    attempts: spec.attempts,
    deadlineMs: (maxNewTokens) => queueMs + maxNewTokens * perTokenMs,
  }
}

/** A store that is down costs nothing but the takeover by another host: the journal has every row. */
async function saveCheckpoint(checkpoints: CheckpointWriter, { log }: GenerateShardDeps): Promise<void> {
  try {
    await checkpoints.save()
  } catch (error) {
    log('checkpoint not saved; the next one will have its rows', { error: String(error) })
  }
}
