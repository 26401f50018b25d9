import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WorkflowFailedError } from '@temporalio/client'
import type { ApplicationFailure } from '@temporalio/common'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultTaskQueue } from '../../domain/dispatch.ts'
import { Cluster, temporalBinary } from '../harness/cluster.ts'
import { writePrompts } from '../harness/sources.ts'

const run = promisify(execFile)
let cluster: Cluster
let source: string

beforeAll(async () => {
  cluster = await Cluster.start({ engines: 1, engine: { timeScale: 0 } })
  source = await writePrompts(cluster.home, 20)
})
afterAll(() => cluster?.stop())

/** What a run that was started with the input fails with. */
async function failureOf(workflowId: string, ...args: unknown[]): Promise<ApplicationFailure> {
  const handle = await cluster.client.workflow.start('expandDataset', { taskQueue: defaultTaskQueue, workflowId, args })
  const error = await handle.result().catch((failed: unknown) => failed)
  expect(error).toBeInstanceOf(WorkflowFailedError)
  expect((await handle.describe()).status.name).toBe('FAILED')
  return (error as WorkflowFailedError).cause as ApplicationFailure
}

describe('starting a run', () => {
  it('works with the temporal command line and only the required fields', async () => {
    const spec = JSON.stringify({ run: 'minimal', sources: [source], engines: 1 })
    const args = ['workflow', 'start', '--address', cluster.temporal.address, '--task-queue', defaultTaskQueue]
    await run(await temporalBinary(), [
      ...args,
      '--type',
      'expandDataset',
      '--workflow-id',
      'run-minimal',
      '--input',
      spec,
    ])
    const result = await cluster.client.workflow.getHandle('run-minimal').result()
    expect(result).toMatchObject({ run: 'minimal', prompts: 20, samples: 20, failures: 0 })
  })

  it('again with the same spec does nothing twice', async () => {
    const spec = { run: 'twice', sources: [source], engines: 1 }
    await (await cluster.startRun(spec)).result()
    const completed = cluster.engines[0]!.stats().completed
    expect(await (await cluster.startRun(spec)).result()).toMatchObject({ samples: 20 })
    expect(cluster.engines[0]!.stats().completed).toBe(completed)
  })
})

describe('a bad start ends FAILED and says why', () => {
  it.each<[string, unknown, RegExp]>([
    [
      'an unknown field',
      { run: 'x', sources: ['/a'], engines: 1, sampling: { temprature: 1 } },
      /sampling\.temprature is not a field/,
    ],
    [
      'a value out of range',
      { run: 'x', sources: ['/a'], engines: 1, sampling: { topP: 2 } },
      /sampling\.topP is 2; it must be at most 1/,
    ],
    ['a missing field', { run: 'x', engines: 1 }, /sources is missing/],
    ['null', null, /there is none/],
  ])('%s', async (name, spec, message) => {
    const failure = await failureOf(`run-bad-${name.replaceAll(' ', '-')}`, spec)
    expect(failure.type).toBe('InvalidRunSpec')
    expect(failure.message).toMatch(message)
  })

  it('no input at all', async () => {
    expect((await failureOf('run-bad-nothing')).message).toMatch(/there is none/)
  })

  it('another spec under the name of a run', async () => {
    await (await cluster.startRun({ run: 'mine', sources: [source], engines: 1 })).result()
    const failure = await failureOf('run-other', {
      run: 'mine',
      sources: [source],
      engines: 1,
      seed: 'other',
      attempts: 5,
    })
    expect(failure.type).toBe('SpecDiffers')
    expect(failure.message).toMatch(/attempts was 3, now it is 5/)
    expect(failure.message).toMatch(/seed was "longhaul", now it is "other"/)
  })

  it('a source that is not there', async () => {
    const failure = await failureOf('run-gone', { run: 'gone', sources: ['/nowhere/at-all.jsonl'], engines: 1 })
    expect(failure.message).toMatch(/nowhere\/at-all\.jsonl/)
  })
})
