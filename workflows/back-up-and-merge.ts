import { ApplicationFailure, proxyActivities, workflowInfo } from '@temporalio/workflow'
import type { MergeActivities } from '../activities/merge/merge-activities.ts'
import { InvalidMerge, type MergeRequest, type MergeResult, parseMergeRequest } from '../domain/dataset-merge.ts'
import { dataQueueOf, failureTypes } from '../domain/dispatch.ts'

/**
 * Backs the current version of a dataset up, makes the next one of it and a run's samples, and publishes that as one guarded
 * step. When another merge was faster it starts over from what is current then.
 */
export async function backupAndMerge(input: unknown): Promise<MergeResult> {
  const request = parsed(input)
  const { planMerge, backUpDataset, mergeVersion, publishVersion, removeOldBackups, describeMerge } =
    activities(request)
  for (;;) {
    const plan = await planMerge(request)
    if (plan.mergedInto !== undefined) {
      return await describeMerge({ plan, version: plan.base?.version ?? plan.mergedInto, changed: false })
    }
    await backUpDataset(plan)
    const made = await mergeVersion(plan)
    if (!made) return await describeMerge({ plan, version: plan.base?.version ?? 0, changed: false })
    if (!(await publishVersion({ plan, made }))) continue
    if (plan.options.keep !== undefined) await removeOldBackups(plan)
    return await describeMerge({ plan, version: made.version, changed: true })
  }
}

/** Hours of reading and writing that heartbeat; a retry goes on or starts over. What is wrong with the data is not retried. */
function activities({ heartbeatSeconds }: MergeRequest) {
  return proxyActivities<MergeActivities>({
    taskQueue: dataQueueOf(workflowInfo().taskQueue),
    startToCloseTimeout: '7 days',
    // Several beats are in it: the event loop of a busy worker may be late.
    heartbeatTimeout: heartbeatSeconds * 1000,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  })
}

function parsed(input: unknown): MergeRequest {
  try {
    return parseMergeRequest(input)
  } catch (error) {
    if (!(error instanceof InvalidMerge)) throw error
    throw ApplicationFailure.nonRetryable(error.message, failureTypes.invalidMerge, error.problems)
  }
}
