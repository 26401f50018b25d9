import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure, isCancellation } from '@temporalio/workflow'

/**
 * What a workflow should end with after an error in an activity or child: what that one said, instead of "Activity task
 * failed". The error itself stays as the cause.
 */
export function readableFailure(error: unknown): unknown {
  if (isCancellation(error)) return error
  const said = innermost(error)
  if (!(said instanceof ApplicationFailure) || said === error) return error
  const { message, type, nonRetryable, details } = said
  return ApplicationFailure.create({
    message,
    nonRetryable: nonRetryable ?? false,
    ...(type && { type }),
    ...(details && { details }),
    cause: error as Error,
  })
}

function innermost(error: unknown): unknown {
  const isWrapper = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure
  return isWrapper && error.cause ? innermost(error.cause) : error
}
