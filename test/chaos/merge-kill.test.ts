import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection, type WorkflowHandle } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatasetManifest, DatasetPointer } from '../../domain/dataset.ts'
import type { MergeResult } from '../../domain/dataset-merge.ts'
import { findTemporalBinary } from '../../servers/temporal-binary.ts'
import { TemporalServer } from '../../servers/temporal-server.ts'
import { hashObject } from '../../store/hash-object.ts'
import { createOpenStore, type StoreOpener } from '../../store/open-store.ts'
import { readJson } from '../../store/read-object.ts'
import type { S3Options } from '../../store/s3-options.ts'
import type { ObjectStore } from '../../store/store.ts'
import { workflowBundlePath } from '../../workers/environment.ts'
import { s3ForTests } from '../servers/s3-for-tests.ts'
import type { S3Server } from '../servers/s3-server.ts'
import { oldRow, range, Scene, sampleOf } from '../unit/merge/arrange.ts'

/** When the worker is killed: in a phase, or at a call of the store. */
const kills: Record<string, object> = {
  'half the dataset was adopted': { phase: 'adopting', from: 2 },
  'the back-up is half copied': { phase: 'backing up', from: 2 },
  'a file of the back-up is being copied': { call: ['copyFrom', 'putStream'], key: 'files/b\\.jsonl', when: 'after' },
  'the back-up is about to be sealed': { call: ['put'], key: 'backup\\.json', when: 'before' },
  'half the rows were read': { phase: 'reading', from: 0.5 },
  'the rows are being ordered': { phase: 'ordering', from: 0 },
  'half the rows were written': { phase: 'writing', from: 0.5 },
  'a file of the new version is being written': { call: ['putStream'], key: 'v0002/part-00001', when: 'during' },
  'all files are written, and no manifest': { call: ['put'], key: 'v0002/manifest', when: 'before' },
  'the manifest is written, and the pointer not moved': { call: ['put'], key: 'v0002/manifest', when: 'after' },
  'the pointer is about to move': { call: ['put'], key: 'current\\.json', when: 'before', nth: 2 },
  'the pointer is moved, and nobody was told': { call: ['put'], key: 'current\\.json', when: 'after', nth: 2 },
}

let server: TemporalServer
let client: Client
let native: NativeConnection
let control: Worker
let controlling: Promise<void>
const home = mkdtempSync(join(tmpdir(), 'merge-kill-'))
const taskQueue = 'merge-kill'
const children = new Set<ChildProcess>()

beforeAll(async () => {
  const cacheFolder = join(homedir(), '.cache', 'longhaul')
  const binary = await findTemporalBinary({ path: process.env.PATH ?? '', cacheFolder })
  const files = { databaseFile: join(home, 'temporal.db'), logFile: join(home, 'temporal.log') }
  server = await TemporalServer.start({ binary, ...files })
  client = new Client({ connection: await Connection.connect({ address: server.address }) })
  native = await NativeConnection.connect({ address: server.address })
  control = await Worker.create({
    ...{ connection: native, taskQueue },
    workflowBundle: { codePath: workflowBundlePath() },
  })
  controlling = control.run()
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

const script = fileURLToPath(new URL('merge-worker.mjs', import.meta.url))

/** Where a dataset and a run lie, and how they are reached. */
interface Place {
  dataset: string
  runs: string
  s3: S3Options
  env: NodeJS.ProcessEnv
  openStore: StoreOpener
  scratch: string
}

function startWorker({ runs, s3, env, scratch }: Place, kill?: object): ChildProcess {
  const order = { address: server.address, taskQueue: `${taskQueue}-data`, defaultStore: runs, scratch, s3, kill }
  const child = spawn(process.execPath, [script, JSON.stringify(order)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', process.env.DEBUG ? 'inherit' : 'ignore'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

let merges = 0

/** Starts the merge; its worker is killed once, and replaced by one that lives. */
async function mergeThroughDeath(place: Place, kill: object, whenDead: () => Promise<void>): Promise<MergeResult> {
  const doomed = startWorker(place, kill)
  const handle = await startMerge(place)
  const [, signal] = await once(doomed, 'exit')
  expect(signal).toBe('SIGKILL')
  await whenDead()
  const heir = startWorker(place)
  try {
    return await handle.result()
  } finally {
    heir.kill('SIGKILL')
  }
}

async function startMerge({ dataset }: Place): Promise<WorkflowHandle<() => Promise<MergeResult>>> {
  return (await client.workflow.start('backupAndMerge', {
    ...{ taskQueue, workflowId: `merge-kill-${merges++}` },
    args: [{ dataset: { uri: dataset, fileBytes: 30_000 }, run: 'r', heartbeatSeconds: 1 }],
  })) as WorkflowHandle<() => Promise<MergeResult>>
}

/** The current version, every file of it read and held against its manifest; undefined where there is none. */
async function currentVersion(dataset: ObjectStore): Promise<DatasetManifest | undefined> {
  if (!(await dataset.head('current.json'))) return undefined
  const pointer = await readJson<DatasetPointer>(dataset, 'current.json')
  expect(await hashObject(dataset, pointer.manifest)).toBe(pointer.manifestHash)
  const manifest = await readJson<DatasetManifest>(dataset, pointer.manifest)
  for (const { key, sha256 } of [...manifest.files, ...manifest.extras]) {
    expect(await hashObject(dataset, key)).toBe(sha256)
  }
  return manifest
}

/** Three old files of 200 rows each, and 300 samples, 100 of which the dataset has. */
async function fill(scene: Scene, { dataset, runs, openStore }: Place): Promise<void> {
  const files = ['a', 'b', 'c'].map(
    (name, n) =>
      [
        name,
        range(n * 200, n * 200 + 200)
          .map(oldRow)
          .join(''),
      ] as const,
  )
  const store = openStore(dataset)
  for (const [name, rows] of files) await store.put(`${name}.jsonl`, rows)
  scene.run(
    'r',
    range(500, 800).map((n) => sampleOf(n)),
  )
  if (runs === scene.runs) return
  const local = openStore(scene.runs)
  for await (const { key } of local.list('')) await openStore(runs).putStream(key, (await local.get(key)).body)
}

function describeKills(name: string, placeOf: (scene: Scene) => Place) {
  describe(`on ${name}, a data worker killed when`, () => {
    let expected: string[] | undefined

    it.each(Object.entries(kills))('%s leaves the old version or the new one, whole', async (_when, kill) => {
      const scene = new Scene()
      const place = placeOf(scene)
      try {
        await fill(scene, place)
        const dataset = place.openStore(place.dataset)
        const result = await mergeThroughDeath(place, kill, async () => {
          const manifest = await currentVersion(dataset)
          expect([undefined, 600, 800]).toContain(manifest?.rows)
        })
        expect(result).toMatchObject({ changed: true, version: 2, rows: 800 })
        const manifest = await currentVersion(dataset)
        const hashes = manifest!.files.map(({ sha256 }) => sha256)
        // Whenever the worker dies, the bytes are the same.
        expected ??= hashes
        expect(hashes).toEqual(expected)
        expect(hashes.length).toBeGreaterThan(2)
        expect(readdirSync(scene.scratch)).toEqual([])
        const again = startWorker(place)
        expect(await (await startMerge(place)).result()).toMatchObject({ changed: false, version: 2 })
        again.kill('SIGKILL')
      } finally {
        scene.remove()
      }
    })
  })
}

const fileStores = createOpenStore()
describeKills('file stores', (scene) => ({
  ...{ dataset: scene.dataset, runs: scene.runs, s3: {}, env: {} },
  ...{ openStore: fileStores, scratch: scene.scratch },
}))

describe('with an S3 server', () => {
  let s3: S3Server
  let openStore: StoreOpener
  beforeAll(async () => {
    s3 = await s3ForTests()
    await s3.createBucket('merge-kill')
    openStore = createOpenStore({ s3: s3.options() })
  })
  afterAll(async () => {
    await openStore?.close()
    await s3?.stop()
  })

  describeKills('S3', (scene) => {
    const name = createHash('sha256').update(scene.folder).digest('hex').slice(0, 12)
    return {
      dataset: `s3://merge-kill/${name}/data`,
      runs: `s3://merge-kill/${name}/store`,
      s3: s3.options(),
      env: {},
      openStore: createOpenStore({ s3: s3.options() }),
      scratch: scene.scratch,
    }
  })
})
