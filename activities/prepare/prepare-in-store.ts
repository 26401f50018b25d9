import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, type Dispatcher, RetryAgent } from 'undici'
import type { Plan, PlanSummary } from '../../domain/plan.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Spec } from '../../domain/spec.ts'
import type { HubOptions } from '../../formats/places/hub-cache.ts'
import { sourceFiles } from '../../formats/places/source-files.ts'
import { ObjectNotFound, PreconditionFailed } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore, OpenStore } from '../../store/store.ts'
import { readEvaluation } from './contamination/read-evaluation.ts'
import { type PrepareProgress, ProgressMeter } from './prepare-progress.ts'
import { prepareRun } from './prepare-run.ts'
import { type StartTasks, startThreads } from './prepare-threads.ts'
import { defaultSizes, type PrepareSizes } from './sizes.ts'

export interface PrepareDeps {
  readonly openStore: OpenStore
  /** Local folder for what does not fit into memory: about the size of the prompts. */
  readonly scratch: string
  /** CPU cores to use. */
  readonly threads: number
  /** Token, address and cache for sources on the Hugging Face hub. Left out: public datasets, the usual cache. */
  readonly hub?: HubOptions
  /** For sources behind http(s). Left out: one that retries, and resumes what broke off. */
  readonly dispatcher?: Dispatcher
  readonly sizes?: PrepareSizes
  readonly startTasks?: StartTasks
}

export interface PrepareRequest {
  readonly run: string
  /** URI of the store that the run lives in. */
  readonly store: string
  readonly specHash: string
  readonly signal: AbortSignal
  onProgress(progress: PrepareProgress): void
}

/** `runs/<run>/spec.json`. */
interface FrozenSpec {
  spec: Spec
  specHash: string
  frozenAt: string
}

/** The run was frozen with another spec than the one that is to be prepared. */
export class SpecDiffers extends Error {
  override readonly name = 'SpecDiffers'
  constructor(
    readonly run: string,
    readonly frozenHash: string,
    readonly specHash: string,
  ) {
    super(`Run ${run} was frozen with spec ${frozenHash}, not with ${specHash}: give the changed one another name`)
  }
}

/** Makes the plan of a run, once: where there is one, it is the answer. */
export async function prepareInStore(request: PrepareRequest, deps: PrepareDeps): Promise<PlanSummary> {
  const store = deps.openStore(request.store)
  const keys = runKeys(request.run)
  const made = await readIfThere<Plan>(store, keys.plan)
  if (made) return summaryOf(made, keys.plan, request)
  const frozen = await readJson<FrozenSpec>(store, keys.spec)
  if (frozen.specHash !== request.specHash) throw new SpecDiffers(request.run, frozen.specHash, request.specHash)
  const plan = await prepareSpec(frozen.spec, store, request, deps)
  await publish(store, keys.plan, planText(plan))
  return summaryOf(plan, keys.plan, request)
}

async function prepareSpec(spec: Spec, store: ObjectStore, request: PrepareRequest, deps: PrepareDeps): Promise<Plan> {
  const { scratch, threads, openStore, sizes = defaultSizes, startTasks = startThreads } = deps
  const { signal } = request
  const keys = runKeys(spec.run)
  const folder = join(scratch, `prepare-${spec.run}`)
  const spoolFolder = join(scratch, `prepare-${spec.run}-files`)
  const { hub = {}, dispatcher = new RetryAgent(new Agent()) } = deps
  const places = { openStore, hub, dispatcher, spoolFolder }
  const filesOf = (uri: string) => sourceFiles(uri, places)
  const contamination = spec.decontaminate && (await readEvaluation(spec.decontaminate, filesOf, sizes))
  const running = startTasks({ folder, spec, sizes, contamination }, threads, signal)
  try {
    const plan = await prepareRun(spec, request.specHash, {
      folder,
      sizes,
      tasks: running.tasks,
      threads,
      filesOf,
      contaminationKey: contamination?.key,
      output: {
        putShard: (shard, lines) => putShard(store, keys.prompts(shard), lines, signal),
        putContaminated: async (source, lines) => {
          await publish(store, keys.contaminated(source), lines, { signal })
        },
        putRejects: async (source, lines) => {
          await publish(store, keys.rejects(source), lines, { signal })
        },
      },
      meter: new ProgressMeter(request.onProgress, () => performance.now()),
      signal,
    })
    // Only now: what is left behind by a failed attempt spares the next one the work.
    for (const done of [folder, spoolFolder]) await rm(done, { recursive: true, force: true })
    return plan
  } finally {
    await running.close()
  }
}

/** Hashes nothing unless the object is there already: all prompts together are gigabytes. */
async function putShard(store: ObjectStore, key: string, lines: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    await store.put(key, lines, { onlyIf: 'absent', signal })
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
    await publish(store, key, lines, { signal })
  }
}

async function readIfThere<T>(store: ObjectStore, key: string): Promise<T | undefined> {
  try {
    return await readJson<T>(store, key)
  } catch (error) {
    if (error instanceof ObjectNotFound) return undefined
    throw error
  }
}

function planText(plan: Plan): string {
  return `${JSON.stringify(plan, undefined, 1)}\n`
}

function summaryOf(plan: Plan, planKey: string, { specHash }: PrepareRequest): PlanSummary {
  if (plan.specHash !== specHash) throw new SpecDiffers(plan.run, plan.specHash, specHash)
  const sum = (count: (source: Plan['sources'][number]) => number) =>
    plan.sources.reduce((total, source) => total + count(source), 0)
  const all = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0)
  return {
    run: plan.run,
    specHash,
    planKey,
    planHash: createHash('sha256').update(planText(plan)).digest('hex'),
    prompts: plan.prompts,
    shards: plan.shardSizes.length,
    idsHash: plan.idsHash,
    read: sum(({ read }) => read),
    rejected: sum(({ rejected }) => all(rejected)),
    filtered: sum(({ filtered }) => all(filtered)),
    duplicates: sum(({ duplicates }) => duplicates),
    notDrawn: sum(({ notDrawn }) => notDrawn),
  }
}
