import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PreconditionFailed } from '../../store/errors.ts'
import { hashObject } from '../../store/hash-object.ts'
import { publish } from '../../store/publish.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type Fault, FaultProxy } from '../servers/fault-proxy.ts'
import { s3ForTests } from '../servers/s3-for-tests.ts'
import { describeStore } from './store.contract.ts'
import { bytesOf, chunked, keysOf, pattern, sha256 } from './store-arrange.ts'
import { partBytes } from './store-backend.ts'
import { type RunningBackend, s3Backend } from './store-start.ts'

const faults: Fault[] = [
  'drop',
  'reset',
  'lost-reply',
  'stalled-body',
  'truncated-body',
  'slow-first-byte',
  'slow-down',
  'internal-error',
  'unavailable',
  'conflict',
  'wrong-clock',
  'gateway-page',
]

let proxy: FaultProxy
let backend: RunningBackend

beforeAll(async () => {
  const server = await s3ForTests()
  proxy = await FaultProxy.start(server.endpoint, { seed: 7 })
  const started = await s3Backend(server, {
    endpoint: proxy.endpoint,
    idleTimeoutMs: 1_000,
    attemptsPerCall: 2,
    firstDelayMs: 5,
    longestDelayMs: 50,
  })
  backend = { ...started, racesAtOnce: 8 }
})

afterAll(async () => {
  await backend?.stop()
  await proxy?.stop()
})

const orphaned = 'the lost reply to the begin of an upload leaves one behind that only collecting finds'

describe('with every fault at a rate', () => {
  beforeAll(() => {
    for (const fault of faults) proxy.inject({ fault, rate: 0.004 })
  })
  afterAll(() => proxy.clear())

  describeStore('store', () => backend, {
    'refuses to write a large stream over an object': orphaned,
    'stores nothing of a large stream whose source fails': orphaned,
    'stores nothing of a stream that is aborted, and lets its source clean up': orphaned,
    'of killed writers are told and collected': orphaned,
  })
})

describe('with one fault in many requests', () => {
  beforeEach(() => proxy.clear())

  for (const fault of faults) {
    it(`loses nothing, does nothing twice and shows no half: ${fault}`, async () => {
      const store = backend.fresh()
      // A stall costs the whole idle time.
      const injected = proxy.inject({ fault, rate: fault === 'stalled-body' ? 0.1 : 0.2 })
      await workload(store)
      injected.remove()
      expect(injected.hits).toBeGreaterThan(10)
      expect(await contentsOf(store)).toEqual(await expectedContents())
    })
  }
})

const small = (n: number) => `object ${n}`
const large = pattern(partBytes * 2 + 11, 20)
const objects = Array.from({ length: 24 }, (_, n) => n)

/** Everything that a run does with its store, four things at a time, each checked against what it promises. */
async function workload(store: ObjectStore): Promise<void> {
  const tasks = [
    ...objects.map((n) => async () => {
      await store.put(`once/${n}`, small(n), { onlyIf: 'absent' })
      await expect(store.put(`once/${n}`, 'too late', { onlyIf: 'absent' })).rejects.toThrow(PreconditionFailed)
    }),
    ...objects.map((n) => async () => {
      expect((await publish(store, `published/${n}`, small(n))).sha256).toBe(sha256(small(n)))
      expect((await publish(store, `published/${n}`, small(n))).wasThere).toBe(true)
    }),
    async () => {
      await store.putStream('large', chunked(large, 900_000), { onlyIf: 'absent' })
      expect(await hashObject(store, 'large')).toBe(sha256(large))
      await store.copy('large', 'large-copy')
      await store.copy('large', 'large-copy-once', { onlyIf: 'absent' })
    },
    async () => {
      // Nobody else writes the pointer: every swap must succeed, however often its reply is lost.
      let { etag } = await store.put('pointer', '0', { onlyIf: 'absent' })
      for (let n = 1; n <= 15; n++) etag = (await store.put('pointer', `${n}`, { onlyIf: { etag } })).etag
    },
    async () => {
      await store.put('removed', 'content')
      await store.delete('removed')
    },
  ]
  const lane = async () => {
    for (let task = tasks.shift(); task; task = tasks.shift()) await task()
  }
  await Promise.all([lane(), lane(), lane(), lane()])
  expect(await keysOf(store)).toHaveLength(objects.length * 2 + 4)
}

async function contentsOf(store: ObjectStore): Promise<Record<string, string>> {
  const contents: Record<string, string> = {}
  for (const key of await keysOf(store)) contents[key] = sha256(await bytesOf(store, key))
  return contents
}

async function expectedContents(): Promise<Record<string, string>> {
  return Object.fromEntries([
    ...objects.flatMap((n) => [
      [`once/${n}`, sha256(small(n))],
      [`published/${n}`, sha256(small(n))],
    ]),
    ...['large', 'large-copy', 'large-copy-once'].map((key) => [key, sha256(large)]),
    ['pointer', sha256('15')],
  ])
}
