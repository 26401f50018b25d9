import { createHash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plan, PlanSummary } from '../../domain/plan.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Spec } from '../../domain/spec.ts'
import { ObjectNotFound } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore, OpenStore } from '../../store/store.ts'
import { type PrepareProgress, prepareRun } from './prepare-run.ts'
import { prepareTasks } from './prepare-tasks.ts'
import { defaultSizes, type PrepareSizes } from './sizes.ts'

export interface PrepareDeps {
  readonly openStore: OpenStore
  /** Local folder for what does not fit into memory; a folder per run is made in it. */
  readonly scratch: string
  /** CPU cores to use. */
  readonly threads: number
  readonly sizes?: PrepareSizes
  onProgress?(progress: PrepareProgress): void
}

export interface PrepareInput {
  run: string
  /** URI of the store that the run lives in. */
  store: string
  specHash: string
}

/** `runs/<run>/spec.json`. */
interface FrozenSpec {
  spec: Spec
  specHash: string
  frozenAt: string
}

export type PrepareActivities = ReturnType<typeof createPrepareActivities>

export function createPrepareActivities(deps: PrepareDeps) {
  return {
    /** Makes the plan of a run, once: where there is one for this spec, it is the answer. */
    async prepare({ run, store: storeUri, specHash }: PrepareInput): Promise<PlanSummary> {
      const store = deps.openStore(storeUri)
      const keys = runKeys(run)
      const made = await readIfThere<Plan>(store, keys.plan)
      if (made?.specHash === specHash) return summaryOf(made, keys.plan)
      const frozen = await readJson<FrozenSpec>(store, keys.spec)
      return await prepareInto(store, frozen.spec, specHash, deps)
    },
  }
}

async function prepareInto(store: ObjectStore, spec: Spec, specHash: string, deps: PrepareDeps): Promise<PlanSummary> {
  const keys = runKeys(spec.run)
  const folder = join(deps.scratch, `prepare-${spec.run}`)
  const sizes = deps.sizes ?? defaultSizes
  await mkdir(folder, { recursive: true })
  try {
    const plan = await prepareRun(spec, specHash, {
      folder,
      sizes,
      tasks: prepareTasks({ folder, spec, sizes }),
      threads: deps.threads,
      output: {
        putShard: async (shard, lines) => {
          await publish(store, keys.prompts(shard), lines)
        },
        putRejects: async (source, lines) => {
          await publish(store, keys.rejects(source), lines)
        },
      },
      onProgress: (progress) => deps.onProgress?.(progress),
    })
    await publish(store, keys.plan, planText(plan))
    return summaryOf(plan, keys.plan)
  } finally {
    await rm(folder, { recursive: true, force: true })
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

function summaryOf(plan: Plan, planKey: string): PlanSummary {
  const sum = (count: (source: Plan['sources'][number]) => number) =>
    plan.sources.reduce((total, source) => total + count(source), 0)
  const all = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0)
  return {
    run: plan.run,
    specHash: plan.specHash,
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
