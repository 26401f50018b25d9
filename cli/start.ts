import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { defaultTaskQueue, workflowIds } from '../domain/dispatch.ts'
import { parseSpec } from '../domain/spec.ts'
import { connectClient } from '../workers/temporal-connection.ts'
import { AnswerIsNo, WrongUse } from './exit.ts'

export function startCommand() {
  return new Command('start')
    .description('Start a run, or go on with one that was started with the same spec.')
    .argument('<spec>', 'JSON file with the spec; relative paths in it are meant from its folder')
    .option('--task-queue <name>', 'control queue', defaultTaskQueue)
    .addHelpText('after', '\nExample:\n  longhaul start spec.json')
    .action(async (file, { taskQueue }) => {
      const spec = await readSpec(file)
      const { run } = parseSpec(spec)
      const client = await connectClient()
      try {
        const handle = await client.workflow.start('expandDataset', {
          taskQueue,
          workflowId: workflowIds.run(run),
          args: [spec],
        })
        process.stdout.write(
          `Run ${run} is started: workflow ${handle.workflowId}.\nWatch it with: longhaul status ${run}\n`,
        )
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
        throw new AnswerIsNo(`Run ${run} is running already. See it with: longhaul status ${run}`)
      } finally {
        await client.connection.close()
      }
    })
}

/** Reads a spec as people write it: paths relative to its own folder are made absolute. */
export async function readSpec(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8')
  let spec: unknown
  try {
    spec = JSON.parse(text)
  } catch (error) {
    throw new WrongUse(`${file} is no JSON: ${(error as Error).message}`)
  }
  if (typeof spec !== 'object' || spec === null || !('sources' in spec) || !Array.isArray(spec.sources)) return spec
  const folder = dirname(resolve(file))
  return { ...spec, sources: spec.sources.map((source) => absoluteSource(source, folder)) }
}

function absoluteSource(source: unknown, folder: string): unknown {
  if (typeof source === 'string') return absoluteUri(source, folder)
  if (typeof source !== 'object' || source === null || !('uri' in source)) return source
  const { uri } = source
  if (typeof uri === 'string') return { ...source, uri: absoluteUri(uri, folder) }
  return Array.isArray(uri)
    ? { ...source, uri: uri.map((one) => (typeof one === 'string' ? absoluteUri(one, folder) : one)) }
    : source
}

function absoluteUri(uri: string, folder: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(uri) || isAbsolute(uri) ? uri : resolve(folder, uri)
}
