import { ApplicationFailure, executeChild, workflowInfo } from '@temporalio/workflow'
import { failureTypes, workflowIds } from '../domain/dispatch.ts'
import { InvalidRetry, parseRetryRequest, type RetryRequest } from '../domain/retry.ts'
import { dataActivities, runActivities } from './activity-groups.ts'
import { generate } from './generate.ts'
import { readableFailure } from './readable-failure.ts'
import { StatusFollower } from './status-follower.ts'

/** What a retry ends with. */
export interface RetryResult {
  run: string
  round: number
  /** Failures that were asked again. */
  retried: number
  /** Of the whole run, after the retry. */
  samples: number
  failures: number
}

/** Asks chosen failures of a run that has ended again, under the same run, with changed parameters if wanted. */
export async function retryFailures(input: unknown): Promise<RetryResult> {
  const request = parsed(input)
  try {
    const { ref, spec } = await runActivities.findRun({
      run: request.run,
      ...(request.store && { store: request.store }),
    })
    const token = workflowInfo().firstExecutionRunId
    const { round, prompts } = await dataActivities().planRetry({ ref, request, token })
    const status = new StatusFollower(ref)
    // The same id as in the run itself: two schedulers of one run can't be.
    await executeChild(generate, { workflowId: workflowIds.generate(ref.run), args: [{ ref, spec }] })
    status.follow('verifying')
    const { samples, failures } = await dataActivities().verifyRun(ref)
    status.end()
    await runActivities.reportProgress({ ref, status: 'done' })
    return { run: ref.run, round, retried: prompts, samples, failures }
  } catch (error) {
    throw readableFailure(error)
  }
}

function parsed(input: unknown): RetryRequest {
  try {
    return parseRetryRequest(input)
  } catch (error) {
    if (!(error instanceof InvalidRetry)) throw error
    throw ApplicationFailure.nonRetryable(error.message, failureTypes.invalidRetry, error.problems)
  }
}
