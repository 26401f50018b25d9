import { createHash } from 'node:crypto'
import type { Plan, PlanSummary } from '../../domain/plan.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { ObjectNotFound, PreconditionFailed } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { readRunRecord } from '../run-record.ts'
import { type PrepareDeps, type PrepareWatch, prepareOnHost } from './prepare-on-host.ts'
import type { PrepareOutput } from './prepare-run.ts'

export interface PrepareRequest extends PrepareWatch {
  readonly run: string
  /** URI of the store that the run lives in. */
  readonly store: string
  readonly specHash: string
}

/** Makes the plan of a run, once: where there is one, it is the answer. Throws `AnotherSpec`. */
export async function prepareInStore(request: PrepareRequest, deps: PrepareDeps): Promise<PlanSummary> {
  const store = deps.openStore(request.store)
  const keys = runKeys(request.run)
  const { spec, specHash } = await readRunRecord(store, request)
  const made = await readIfThere<Plan>(store, keys.plan)
  if (made) return summaryOf(made, keys.plan)
  const plan = await prepareOnHost(spec, specHash, outputTo(store, request), request, deps)
  await publish(store, keys.plan, planText(plan))
  return summaryOf(plan, keys.plan)
}

function outputTo(store: ObjectStore, { run, signal }: PrepareRequest): PrepareOutput {
  const keys = runKeys(run)
  const publishLines = async (key: string, lines: AsyncIterable<Uint8Array>) => {
    await publish(store, key, lines, { signal })
  }
  return {
    putShard: (shard, lines) => putShard(store, keys.prompts(shard), lines, signal),
    putRejects: (source, lines) => publishLines(keys.rejects(source), lines),
    putContaminated: (source, lines) => publishLines(keys.contaminated(source), lines),
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

/** The bytes of plan.json. */
export function planText(plan: Plan): string {
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
