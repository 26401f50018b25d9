import { ApplicationFailure, CancellationScope, executeChild, isCancellation } from '@temporalio/workflow'
import type { MergeResult } from '../domain/dataset-merge.ts'
import { failureTypes, type RunRef, workflowIds } from '../domain/dispatch.ts'
import type { RunStatus } from '../domain/progress.ts'
import { InvalidSpec, parseSpec, type Spec, schedulingOf } from '../domain/spec.ts'
import { dataActivities, runActivities } from './activity-groups.ts'
import { backupAndMerge } from './back-up-and-merge.ts'
import { generate } from './generate.ts'
import { readableFailure } from './readable-failure.ts'
import { StatusFollower } from './status-follower.ts'

/** What a run ends with. */
export interface RunResult {
  run: string
  /** URI of the store. */
  store: string
  /** Key of the run's manifest. */
  manifest: string
  prompts: number
  samples: number
  failures: number
  inputTokens: number
  outputTokens: number
  /** Where the samples went, when the spec names a dataset. */
  merged?: MergeResult
}

/** The whole run: prepare → generate → verify → back up and merge. Takes a spec, as JSON. */
export async function expandDataset(input: unknown): Promise<RunResult> {
  const spec = parsed(input)
  const ref = await started(spec)
  const status = new StatusFollower(ref)
  try {
    status.follow('preparing')
    await dataActivities().prepare(ref)
    status.end()
    await executeChild(generate, {
      workflowId: workflowIds.generate(ref.run),
      args: [{ ref, spec: schedulingOf(spec) }],
    })
    status.follow('verifying')
    const { manifest, ...counts } = await dataActivities().verifyRun(ref)
    const merged = await merge(ref, spec, status)
    status.end()
    await runActivities.reportProgress({ ref, status: 'done' })
    return { run: ref.run, store: ref.store, manifest, ...counts, ...(merged && { merged }) }
  } catch (error) {
    status.end()
    await leave(ref, isCancellation(error) ? 'cancelled' : 'failed')
    throw readableFailure(error)
  }
}

async function started(spec: Spec): Promise<RunRef> {
  try {
    return await runActivities.startRun(spec)
  } catch (error) {
    throw readableFailure(error)
  }
}

async function merge(ref: RunRef, { dataset }: Spec, status: StatusFollower): Promise<MergeResult | undefined> {
  if (!dataset) return undefined
  status.follow('merging')
  return await executeChild(backupAndMerge, { workflowId: workflowIds.merge(ref.run), args: [{ ref, dataset }] })
}

/** The last word in `progress.json`, whatever ended the run. */
async function leave(ref: RunRef, status: RunStatus): Promise<void> {
  await CancellationScope.nonCancellable(() => runActivities.reportProgress({ ref, status }))
}

function parsed(input: unknown): Spec {
  try {
    return parseSpec(input)
  } catch (error) {
    if (!(error instanceof InvalidSpec)) throw error
    throw ApplicationFailure.nonRetryable(error.message, failureTypes.invalidSpec, error.problems)
  }
}
