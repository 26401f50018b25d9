import { ApplicationFailure, CancellationScope, executeChild, isCancellation } from '@temporalio/workflow'
import { failureTypes, type RunRef, workflowIds } from '../domain/dispatch.ts'
import type { RunStatus } from '../domain/progress.ts'
import { InvalidSpec, parseSpec, type Spec } from '../domain/spec.ts'
import { dataActivities, runActivities } from './activity-groups.ts'
import { generate } from './generate.ts'
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
}

/** The whole run: prepare → generate → verify → back up and merge. Takes a spec, as JSON. */
export async function expandDataset(input: unknown): Promise<RunResult> {
  const spec = parsed(input)
  const ref = await runActivities.startRun(spec)
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
    status.end()
    await runActivities.reportProgress({ ref, status: 'done' })
    return { run: ref.run, store: ref.store, manifest, ...counts }
  } catch (error) {
    status.end()
    await leave(ref, isCancellation(error) ? 'cancelled' : 'failed')
    throw error
  }
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

/** Only what the scheduler goes by: the sources may be long, and a payload stays small. */
function schedulingOf({ engines, lanes, model, timings }: Spec) {
  return { engines, lanes, timings, ...(model && { model }) }
}
