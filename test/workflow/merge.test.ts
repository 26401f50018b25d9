import { mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection, WorkflowFailedError } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMergeActivities } from '../../activities/merge/merge-activities.ts'
import type { MergeResult } from '../../domain/dataset-merge.ts'
import { findTemporalBinary } from '../../servers/temporal-binary.ts'
import { TemporalServer } from '../../servers/temporal-server.ts'
import { createOpenStore } from '../../store/open-store.ts'
import { workflowBundlePath } from '../../workers/environment.ts'
import { oldRow, range, Scene, sampleOf } from '../unit/merge/arrange.ts'

let server: TemporalServer
let client: Client
let native: NativeConnection
const home = mkdtempSync(join(tmpdir(), 'merge-temporal-'))

beforeAll(async () => {
  const binary = await findTemporalBinary({
    path: process.env.PATH ?? '',
    cacheFolder: join(homedir(), '.cache', 'longhaul'),
  })
  const files = { databaseFile: join(home, 'temporal.db'), logFile: join(home, 'temporal.log') }
  server = await TemporalServer.start({ binary, ...files })
  client = new Client({ connection: await Connection.connect({ address: server.address }) })
  native = await NativeConnection.connect({ address: server.address })
})
afterAll(async () => {
  await native?.close()
  await client?.connection.close()
  await server?.stop()
  rmSync(home, { recursive: true, force: true })
})

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

let queues = 0

/** Runs control and data workers while `work` goes on. */
async function withWorkers<T>(
  work: (start: (input?: unknown) => Promise<MergeResult>) => Promise<T>,
  wrap: (activities: ReturnType<typeof createMergeActivities>) => object = (activities) => activities,
): Promise<T> {
  const taskQueue = `merge-${queues++}`
  const control = await Worker.create({
    ...{ connection: native, taskQueue },
    workflowBundle: { codePath: workflowBundlePath() },
  })
  const activities = createMergeActivities({
    ...{ openStore: createOpenStore(), defaultStore: scene.runs, scratch: scene.scratch },
  })
  const data = await Worker.create({
    ...{ connection: native, taskQueue: `${taskQueue}-data` },
    activities: wrap(activities),
  })
  let started = 0
  const start = (...args: unknown[]): Promise<MergeResult> =>
    client.workflow.execute('backupAndMerge', { taskQueue, workflowId: `${taskQueue}-${started++}`, args })
  return await control.runUntil(data.runUntil(work(start)))
}

describe('the workflow backupAndMerge', () => {
  it('backs up, merges and publishes, and does nothing the second time', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run(
      'r',
      range(20, 40).map((n) => sampleOf(n)),
    )
    await withWorkers(async (start) => {
      const input = { dataset: { uri: scene.dataset }, run: 'r' }
      const counts = { old: 30, new: 20, duplicates: 10, dropped: 0, merged: 40, reasons: {} }
      const merged = { dataset: scene.dataset, version: 2, rows: 40, counts, backup: `${scene.dataset}-backup` }
      expect(await start(input)).toMatchObject({ ...merged, changed: true })
      expect(await start(input)).toMatchObject({ version: 2, rows: 40, changed: false })
    })
  })

  it('takes the URI of a manifest, and the reference of a run of which it is a part', async () => {
    scene.run('a', [sampleOf(1)])
    scene.run('b', [sampleOf(2)])
    await withWorkers(async (start) => {
      await start({ dataset: scene.dataset, run: `${scene.runs}/runs/a/manifest.json` })
      await start({ dataset: { uri: scene.dataset }, ref: { run: 'b', store: scene.runs, specHash: 'spec' } })
    })
    expect(scene.manifest()).toMatchObject({ version: 2, rows: 2, runs: [{ run: 'a' }, { run: 'b' }] })
  })

  it('starts over from the new current version when another merge was faster', async () => {
    scene.run(
      'a',
      range(0, 10).map((n) => sampleOf(n)),
    )
    scene.run(
      'b',
      range(5, 15).map((n) => sampleOf(n)),
    )
    const both = { a: 0, b: 0 }
    await withWorkers(
      async (start) => {
        await Promise.all([start({ dataset: scene.dataset, run: 'a' }), start({ dataset: scene.dataset, run: 'b' })])
      },
      (activities) => {
        // Neither publishes before both have made a version of the same base.
        let bothMade = () => {}
        const whenBothMade = new Promise<void>((resolve) => {
          bothMade = resolve
        })
        return {
          ...activities,
          async publishVersion(input: Parameters<typeof activities.publishVersion>[0]) {
            both[input.plan.run.key.includes('/a/') ? 'a' : 'b'] += 1
            if (both.a > 0 && both.b > 0) bothMade()
            await whenBothMade
            return await activities.publishVersion(input)
          },
        }
      },
    )
    expect(both.a + both.b).toBe(3)
    expect(scene.rows()).toHaveLength(15)
    expect(
      scene
        .manifest()
        .runs.map(({ run }) => run)
        .sort(),
    ).toEqual(['a', 'b'])
  })

  it.each([
    [undefined, 'there is no input'],
    [{ run: 'r' }, 'dataset is missing'],
    [{ dataset: { uri: 'file:///d', duplicates: 'both' }, run: 'r' }, 'dataset.duplicates is "both"; allowed are'],
    [{ dataset: 'file:///d' }, 'run is missing'],
    [{ dataset: 'file:///d', run: 'nowhere' }, 'the run does not exist there'],
  ])('ends with a readable message when its input is %j', async (input, message) => {
    await withWorkers(async (start) => {
      const failed = await (input === undefined ? start() : start(input)).catch((error: WorkflowFailedError) => error)
      expect(failed).toBeInstanceOf(WorkflowFailedError)
      const said: string[] = []
      for (let error: unknown = failed; error instanceof Error; error = error.cause) said.push(error.message)
      expect(said.join('\n')).toContain(message)
      expect(scene.has('data/current.json')).toBe(false)
    })
  })
})
