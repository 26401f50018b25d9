import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { defaultTaskQueue, workflowIds } from '../domain/dispatch.ts'
import { type FailureReason, failureReasons } from '../domain/failure-reasons.ts'
import { parseRetryRequest } from '../domain/retry.ts'
import { connectClient } from '../workers/temporal-connection.ts'
import type { RetryResult } from '../workflows/retry-failures.ts'
import { AnswerIsNo } from './exit.ts'
import { storeOption } from './run-store.ts'

export function retryCommand() {
  return new Command('retry')
    .description('Ask failures of a run that has ended again; what is good stays as it is.')
    .argument('<run>', 'name of the run')
    .addOption(storeOption())
    .addOption(
      new Option('--reason <reasons...>', 'only failures with these reasons').choices(
        Object.keys(failureReasons) as FailureReason[],
      ),
    )
    .option('--prompt <ids...>', 'only these prompts')
    .option('--set <changes...>', 'ask them differently, such as sampling.temperature=0.7', parseChanges, {})
    .option('--task-queue <name>', 'control queue', defaultTaskQueue)
    .addHelpText('after', '\nExample:\n  longhaul retry my-run --reason timeout --set sampling.maxNewTokens=4096')
    .action(async (run, { store, reason, prompt, set, taskQueue }) => {
      const request = {
        run,
        ...(store && { store }),
        ...(reason && { reasons: reason }),
        ...(prompt && { promptIds: prompt }),
        changes: set,
      }
      parseRetryRequest(request)
      const client = await connectClient()
      try {
        const handle = await client.workflow.start('retryFailures', {
          taskQueue,
          workflowId: workflowIds.retry(run),
          args: [request],
        })
        process.stdout.write(`Retry is started: workflow ${handle.workflowId}.\n`)
        const { retried, samples, failures } = (await handle.result()) as RetryResult
        process.stdout.write(
          `${retried} failures were asked again; the run now has ${samples} samples and ${failures} failures.\n`,
        )
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
        throw new AnswerIsNo(`A retry of run ${run} is under way already.`)
      } finally {
        await client.connection.close()
      }
    })
}

/** Turns `sampling.temperature=0.7` into a nested object, on top of what was given before. */
function parseChanges(text: string, before: Record<string, unknown>): Record<string, unknown> {
  const [path = '', value] = text.split(/=(.*)/s)
  if (value === undefined) throw new InvalidArgumentError(`"${text}" has no value: give field=value.`)
  return withValue(before, path.split('.'), asJson(value))
}

function withValue(
  tree: Record<string, unknown>,
  [key = '', ...rest]: string[],
  value: unknown,
): Record<string, unknown> {
  if (rest.length === 0) return { ...tree, [key]: value }
  return { ...tree, [key]: withValue((tree[key] ?? {}) as Record<string, unknown>, rest, value) }
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
