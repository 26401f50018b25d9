import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection, type WorkflowHandle } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCurrent } from '../../activities/merge/versions/read-version.ts'
import { locateModel } from '../../activities/tokenize/model/locate-model.ts'
import { readModel } from '../../activities/tokenize/model/read-model.ts'
import type { ReadModel } from '../../activities/tokenize/rows/tokenize-conversation.ts'
import { packedRows } from '../../activities/tokenize/units/packed-rows.ts'
import { checkVersion } from '../../activities/tokenize/version/check-version.ts'
import { readVersionRows } from '../../activities/tokenize/version/read-version-rows.ts'
import type { TokenizeResult } from '../../domain/tokenize-request.ts'
import type { TemporalServer } from '../../servers/temporal-server.ts'
import { createOpenStore } from '../../store/open-store.ts'
import { workflowBundlePath } from '../../workers/environment.ts'
import { startTemporal } from '../harness/cluster.ts'
import { writeTinyModel } from '../harness/tiny-model.ts'
import { range, Scene } from '../unit/merge/arrange.ts'
import { sampleBy, tokensUri } from '../unit/tokenize/arrange.ts'

/** When the worker is killed: at a call of the store. */
const kills: Record<string, object> = {
  'the plan is about to be written': { call: ['put'], key: '_work/plans', when: 'before' },
  'the rows of a unit are being written': { call: ['putStream'], key: '_work/units/.*rows', when: 'during', nth: 2 },
  'the rows of a unit are written, and not their record': {
    call: ['put'],
    key: '_work/units/.*json',
    when: 'before',
    nth: 2,
  },
  'a unit is done, and nobody was told': { call: ['put'], key: '_work/units/.*json', when: 'after', nth: 2 },
  'the rows are in order, and no number is taken': { call: ['put'], key: 'v0002/claim', when: 'before' },
  'a file of the new version is being written': { call: ['putStream'], key: 'v0002/data-00001', when: 'during' },
  'all files are written, and no manifest': { call: ['put'], key: 'v0002/manifest', when: 'before' },
  'the manifest is written, and the pointer not moved': { call: ['put'], key: 'v0002/manifest', when: 'after' },
  'the pointer is about to move': { call: ['put'], key: 'current\\.json', when: 'before' },
  'the pointer is moved, and nobody was told': { call: ['put'], key: 'current\\.json', when: 'after' },
  'the units are half removed': { call: ['delete'], key: '_work/units/.*json', when: 'after', nth: 2 },
}

const home = mkdtempSync(join(tmpdir(), 'tokenize-kill-'))
const taskQueue = 'tokenize-kill'
const script = fileURLToPath(new URL('tokenize-worker.mjs', import.meta.url))
const children = new Set<ChildProcess>()
const openStore = createOpenStore()
let server: TemporalServer
let client: Client
let native: NativeConnection
let control: Worker
let controlling: Promise<void>
let model: ReadModel

beforeAll(async () => {
  server = await startTemporal(home)
  client = new Client({ connection: await Connection.connect({ address: server.address }) })
  native = await NativeConnection.connect({ address: server.address })
  control = await Worker.create({
    ...{ connection: native, taskQueue },
    workflowBundle: { codePath: workflowBundlePath() },
  })
  controlling = control.run()
  model = await readModel(await locateModel(writeTinyModel(join(home, 'model')), {}), undefined)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  control?.shutdown()
  await controlling
  await native?.close()
  await client?.connection.close()
  await server?.stop()
  rmSync(home, { recursive: true, force: true })
})

function startWorker(scene: Scene, kill?: object): ChildProcess {
  const order = {
    address: server.address,
    taskQueue: `${taskQueue}-data`,
    defaultStore: scene.runs,
    scratch: scene.scratch,
    kill,
  }
  const child = spawn(process.execPath, [script, JSON.stringify(order)], {
    stdio: ['ignore', 'ignore', process.env.DEBUG ? 'inherit' : 'ignore'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

let started = 0

async function start(scene: Scene, run: string): Promise<WorkflowHandle<() => Promise<TokenizeResult>>> {
  const tokenize = { uri: tokensUri(scene), tokenizer: join(home, 'model'), fileBytes: 40_000 }
  return (await client.workflow.start('tokenizeAndMerge', {
    ...{ taskQueue, workflowId: `tokenize-kill-${started++}` },
    args: [{ tokenize, run, heartbeatSeconds: 1 }],
  })) as WorkflowHandle<() => Promise<TokenizeResult>>
}

/** Finished runs: one that version 1 is made of, and one of which it has a third of the prompts. */
async function fill(scene: Scene): Promise<void> {
  const samples = (from: number, to: number) => Promise.all(range(from, to).map((n) => sampleBy(model, { n })))
  scene.run('a', await samples(0, 200))
  scene.run('b', await samples(100, 400))
}

/** Ids of the prompts in the current version, after every file was read and every gate asked. */
async function currentPrompts(scene: Scene): Promise<{ prompts: string[]; hashes: string[] }> {
  const dataset = openStore(tokensUri(scene))
  const version = await readCurrent(dataset)
  const reading = { openStore, scratch: scene.path('reading'), signal: new AbortController().signal }
  expect((await checkVersion(dataset, version!, { min: 0.01, max: 0.99 }, reading)).findings).toEqual([])
  const prompts: string[] = []
  for await (const { packed } of readVersionRows(dataset, version!, reading)) {
    for (const { promptId } of packedRows(packed)) prompts.push(promptId)
  }
  return { prompts, hashes: version!.manifest.files.map(({ sha256 }) => sha256) }
}

/** Keys of what was kept for the case that the stage has to go on. */
async function workLeft(scene: Scene): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of openStore(tokensUri(scene)).list('_work/units/')) keys.push(key)
  return keys
}

describe('a data worker killed when', () => {
  let expected: string[] | undefined

  it.each(Object.entries(kills))('%s loses no row and makes none twice', async (_when, kill) => {
    const scene = new Scene()
    try {
      await fill(scene)
      const first = startWorker(scene)
      await (await start(scene, 'a')).result()
      first.kill('SIGKILL')
      const doomed = startWorker(scene, kill)
      const handle = await start(scene, 'b')
      const [, signal] = await once(doomed, 'exit')
      expect(signal).toBe('SIGKILL')
      // The old version or the new one, whole.
      expect([200, 400]).toContain((await currentPrompts(scene)).prompts.length)
      startWorker(scene)
      expect(await handle.result()).toMatchObject({ changed: true, version: 2, rows: 400 })
      const { prompts, hashes } = await currentPrompts(scene)
      expect(new Set(prompts).size).toBe(400)
      expect(prompts).toHaveLength(400)
      // Whenever the worker dies, the bytes are the same.
      expected ??= hashes
      expect(hashes).toEqual(expected)
      expect(hashes.length).toBeGreaterThan(1)
      expect(await workLeft(scene)).toEqual([])
      expect(await (await start(scene, 'b')).result()).toMatchObject({ changed: false, version: 2 })
    } finally {
      for (const child of children) child.kill('SIGKILL')
      scene.remove()
    }
  })
})
