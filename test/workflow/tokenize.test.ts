import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection, WorkflowFailedError } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTokenizeActivities, type TokenizeActivities } from '../../activities/tokenize/tokenize-activities.ts'
import type { TokenizeResult } from '../../domain/tokenize-request.ts'
import type { TemporalServer } from '../../servers/temporal-server.ts'
import { createOpenStore } from '../../store/open-store.ts'
import { workflowBundlePath } from '../../workers/environment.ts'
import { startTemporal } from '../harness/cluster.ts'
import { Scene } from '../unit/merge/arrange.ts'
import { damageUnits, qwen, samplesByQwen, tokenManifest, tokensUri } from '../unit/tokenize/arrange.ts'

const home = mkdtempSync(join(tmpdir(), 'tokenize-temporal-'))
let server: TemporalServer
let client: Client
let native: NativeConnection
let activities: TokenizeActivities

beforeAll(async () => {
  server = await startTemporal(home)
  client = new Client({ connection: await Connection.connect({ address: server.address }) })
  native = await NativeConnection.connect({ address: server.address })
  activities = createTokenizeActivities({
    ...{ openStore: createOpenStore(), defaultStore: 'file:///nowhere', scratch: join(home, 'scratch'), threads: 1 },
    log: () => {},
  })
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

/** Runs a control worker and data workers, one for each set of activities, while `work` goes on. */
async function withWorkers<T>(
  work: (start: (input?: unknown) => Promise<TokenizeResult>) => Promise<T>,
  sets: readonly object[] = [activities],
): Promise<T> {
  const taskQueue = `tokenize-${queues++}`
  const control = await Worker.create({
    ...{ connection: native, taskQueue },
    workflowBundle: { codePath: workflowBundlePath() },
  })
  let started = 0
  const start = (...args: unknown[]): Promise<TokenizeResult> =>
    client.workflow.execute('tokenizeAndMerge', { taskQueue, workflowId: `${taskQueue}-${started++}`, args })
  // Workers of one queue in one process need a connection each.
  const connections = await Promise.all(sets.map(() => NativeConnection.connect({ address: server.address })))
  try {
    const data = await Promise.all(
      sets.map((set, n) =>
        Worker.create({
          ...{ connection: connections[n]!, taskQueue: `${taskQueue}-data`, activities: set },
          maxConcurrentActivityTaskExecutions: 1,
        }),
      ),
    )
    const all = data.reduce((inner, worker) => worker.runUntil(inner), control.runUntil(work(start)))
    return await all
  } finally {
    await Promise.all(connections.map((connection) => connection.close()))
  }
}

const tokenize = () => ({ uri: tokensUri(scene), tokenizer: qwen })

async function messagesOf(failing: Promise<unknown>): Promise<string> {
  const failed = await failing.catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(WorkflowFailedError)
  const said: string[] = []
  for (let error: unknown = failed; error instanceof Error; error = error.cause) said.push(error.message)
  return said.join('\n')
}

describe('the workflow tokenizeAndMerge', () => {
  it('tokenizes a run, publishes, and does nothing the second time', async () => {
    scene.run('r', await samplesByQwen(0, 12))
    await withWorkers(async (start) => {
      const input = { tokenize: tokenize(), run: 'r', store: scene.runs }
      const result = await start(input)
      expect(result).toMatchObject({ dataset: tokensUri(scene), version: 1, rows: 12, changed: true, leftOut: 0 })
      expect(result.tokens).toBe(tokenManifest(scene).tokens.tokens)
      expect(await start(input)).toMatchObject({ version: 1, rows: 12, changed: false })
      expect(scene.has('tokens/_work/units')).toBe(false)
    })
  })

  it('is a part of a run when it is given the run’s reference', async () => {
    scene.run('r', await samplesByQwen(0, 3))
    await withWorkers((start) =>
      start({ tokenize: tokenize(), ref: { run: 'r', store: scene.runs, specHash: 'spec' } }),
    )
    expect(tokenManifest(scene)).toMatchObject({ rows: 3, runs: [{ run: 'r', version: 1 }] })
  })

  it('shares the files among data workers', async () => {
    scene.run('r', await samplesByQwen(0, 450))
    const taken: Record<string, number[]> = { one: [], two: [] }
    let bothTook = () => {}
    const whenBothTook = new Promise<void>((resolve) => {
      bothTook = resolve
    })
    const worker = (name: 'one' | 'two') => ({
      ...activities,
      async tokenizeUnits(input: Parameters<TokenizeActivities['tokenizeUnits']>[0]) {
        taken[name]!.push(input.first)
        if (taken.one!.length > 0 && taken.two!.length > 0) bothTook()
        await whenBothTook
        return await activities.tokenizeUnits(input)
      },
    })
    await withWorkers(
      (start) => start({ tokenize: tokenize(), run: `${scene.runs}/runs/r/manifest.json` }),
      [worker('one'), worker('two')],
    )
    expect([...taken.one!, ...taken.two!].sort()).toEqual([0, 1, 2, 3, 4])
    expect(tokenManifest(scene).rows).toBe(450)
  })

  it('makes a unit again that was damaged before it could be merged', async () => {
    scene.run('r', await samplesByQwen(0, 5))
    let damaged = 0
    const damaging = {
      ...activities,
      async makeTokenVersion(plan: Parameters<TokenizeActivities['makeTokenVersion']>[0]) {
        if (damaged++ === 0) damageUnits(scene)
        return await activities.makeTokenVersion(plan)
      },
    }
    await withWorkers((start) => start({ tokenize: tokenize(), run: `${scene.runs}/runs/r/manifest.json` }), [damaging])
    expect(damaged).toBe(2)
    expect(tokenManifest(scene).rows).toBe(5)
  })

  it('publishes nothing and says why when a gate is closed', async () => {
    const samples = await samplesByQwen(0, 10)
    samples[3]!.turns[0]!.outputIds![0] = 999_999
    scene.run('r', samples)
    await withWorkers(async (start) => {
      const said = await messagesOf(start({ tokenize: tokenize(), run: `${scene.runs}/runs/r/manifest.json` }))
      expect(said).toContain('1 of 10 rows are left out as id_out_of_vocabulary')
      expect(scene.has('tokens/current.json')).toBe(false)
    })
  })

  it.each([
    [undefined, 'there is no input'],
    [{ run: 'r' }, 'tokenize is missing'],
    [{ tokenize: { uri: 'file:///d', overlong: 'wrap' }, run: 'r' }, 'tokenize.overlong is "wrap"; allowed are'],
    [{ tokenize: { uri: 'file:///d' } }, 'run is missing'],
    [{ tokenize: { uri: 'file:///d' }, run: 'nowhere' }, 'the run does not exist there'],
  ])('ends with a readable message when its input is %j', async (input, message) => {
    await withWorkers(async (start) => {
      expect(await messagesOf(input === undefined ? start() : start(input))).toContain(message)
    })
  })
})
