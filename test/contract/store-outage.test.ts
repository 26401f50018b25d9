import { EventEmitter, once } from 'node:events'
import { inspect } from 'node:util'
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BucketNotFound, PreconditionFailed, StoreRefused, StoreUnavailable, UploadLost } from '../../store/errors.ts'
import { createOpenStore, type StoreOpener } from '../../store/open-store.ts'
import type { Retry } from '../../store/retry.ts'
import { createS3Client, resolveS3Options, type S3Options } from '../../store/s3-options.ts'
import { FaultProxy } from '../servers/fault-proxy.ts'
import { s3ForTests } from '../servers/s3-for-tests.ts'
import { type S3Server, testCredentials } from '../servers/s3-server.ts'
import { bytesOf, chunked, collect, keysOf, pattern, sha256, textOf } from './store-arrange.ts'
import { partBytes } from './store-backend.ts'

const bucket = 'outage'
const uri = `s3://${bucket}/store`

let server: S3Server
let proxy: FaultProxy
let s3: S3Options
let open: StoreOpener
/** Emits `retry` before each wait. */
const retries = new EventEmitter()

beforeAll(async () => {
  server = await s3ForTests()
  await server.createBucket(bucket)
  proxy = await FaultProxy.start(server.endpoint)
  s3 = {
    ...server.options(proxy.endpoint),
    partBytes,
    copyThresholdBytes: partBytes,
    idleTimeoutMs: 2_000,
    outageBudgetMs: 60_000,
    firstDelayMs: 5,
    longestDelayMs: 50,
    onRetry: (retry) => retries.emit('retry', retry),
  }
  open = createOpenStore({ s3 })
})

afterAll(async () => {
  await open?.close()
  await proxy?.stop()
  await server?.stop()
})

beforeEach(() => proxy.clear())

let stores = 0
const freshStore = () => open(`${uri}-${stores++}`)

describe('a lost reply', () => {
  it('to a write-once put is recognised as the own write', async () => {
    const store = freshStore()
    const lost = proxy.inject({ fault: 'lost-reply', method: 'PUT', times: 1 })
    const put = await store.put('object', 'content', { onlyIf: 'absent' })
    expect(lost.hits).toBe(1)
    expect(put).toMatchObject({ key: 'object', bytes: 7, etag: (await store.head('object'))?.etag })
  })

  it('to a swap is recognised as the own write', async () => {
    const store = freshStore()
    const first = await store.put('object', 'first')
    proxy.inject({ fault: 'lost-reply', method: 'PUT', times: 1 })
    const second = await store.put('object', 'second', { onlyIf: { etag: first.etag } })
    await store.put('object', 'third', { onlyIf: { etag: second.etag } })
    expect(await textOf(store, 'object')).toBe('third')
  })

  it('to every request of a write-once stream is recognised as the own write', async () => {
    const store = freshStore()
    const content = pattern(partBytes * 2 + 5)
    const lost = [
      proxy.inject({ fault: 'lost-reply', method: 'POST', url: /\?uploads/, times: 1 }),
      proxy.inject({ fault: 'lost-reply', method: 'PUT', url: /partNumber=2/, times: 1 }),
      proxy.inject({ fault: 'lost-reply', method: 'POST', url: /uploadId=/, times: 1 }),
    ]
    const put = await store.putStream('object', chunked(content, 1_000_000), { onlyIf: 'absent' })
    expect(lost.map(({ hits }) => hits)).toEqual([1, 1, 1])
    expect(put).toMatchObject({ bytes: content.length, etag: (await store.head('object'))?.etag })
    expect(sha256(await bytesOf(store, 'object'))).toBe(sha256(content))
    // The begin whose reply was lost left an upload that nobody knew of.
    expect((await store.collectLeftovers('', { olderThanMs: -60_000 })).map(({ key }) => key)).toEqual(['object'])
  })

  it('to a copy in parts is recognised as the own write', async () => {
    const store = freshStore()
    const content = pattern(partBytes + 5)
    await store.putStream('original', chunked(content, 1_000_000))
    proxy.inject({ fault: 'lost-reply', method: 'POST', url: /uploadId=/, times: 1 })
    await store.copy('original', 'copy', { onlyIf: 'absent' })
    expect(sha256(await bytesOf(store, 'copy'))).toBe(sha256(content))
  })

  it('does not make a write of somebody else pass for the own', async () => {
    const store = freshStore()
    await store.put('object', 'of another', { onlyIf: 'absent' })
    proxy.inject({ fault: 'lost-reply', method: 'PUT', times: 1 })
    const error = await store.put('object', 'own', { onlyIf: 'absent' }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(PreconditionFailed)
    expect(error.mayHaveLanded).toBe(true)
    expect(await textOf(store, 'object')).toBe('of another')
  })

  it('to a delete is no failure', async () => {
    const store = freshStore()
    await store.put('object', 'content')
    proxy.inject({ fault: 'lost-reply', method: 'DELETE', times: 1 })
    await store.delete('object')
    expect(await keysOf(store)).toEqual([])
  })
})

describe('a body', () => {
  const large = pattern(3_000_000)

  it('goes on where its connection broke, with the version that it began with', async () => {
    const store = freshStore()
    await store.put('large', large)
    const cut = proxy.inject({ fault: 'truncated-body', method: 'GET', times: 5 })
    expect(sha256(await bytesOf(store, 'large'))).toBe(sha256(large))
    expect(cut.hits).toBe(5)
    proxy.inject({ fault: 'truncated-body', method: 'GET', times: 1 })
    const { body } = await store.get('large', { range: { start: 1_000_000, end: 2_000_000 } })
    expect(sha256(await collect(body))).toBe(sha256(large.subarray(1_000_000, 2_000_000)))
  })

  it('goes on where its connection stalled', async () => {
    const store = freshStore()
    await store.put('large', large)
    const stalled = proxy.inject({ fault: 'stalled-body', method: 'GET', times: 1 })
    expect(sha256(await bytesOf(store, 'large'))).toBe(sha256(large))
    expect(stalled.hits).toBe(1)
  })

  it('never mixes two versions of an object', async () => {
    const store = freshStore()
    await store.put('large', large)
    proxy.inject({ fault: 'truncated-body', method: 'GET', times: 1 })
    const { body } = await store.get('large')
    await store.put('large', pattern(3_000_000, 2))
    await expect(collect(body)).rejects.toThrow(PreconditionFailed)
  })

  it('is not held against a reader that is slower than the idle time', async () => {
    const impatient = createOpenStore({ s3: { ...s3, idleTimeoutMs: 100 } })
    const store = impatient(`${uri}-${stores++}`)
    await store.put('large', large)
    const { body } = await store.get('large')
    const chunks: Uint8Array[] = []
    for await (const chunk of body) {
      // Longer than the idle time, with most of the body still to come.
      if (chunks.length === 1) await new Promise((resolve) => setTimeout(resolve, 300))
      chunks.push(chunk)
    }
    expect(sha256(Buffer.concat(chunks))).toBe(sha256(large))
    await impatient.close()
  })
})

describe('an outage', () => {
  it('that empties the retry bucket of the SDK many times over is outlived by all calls', async () => {
    const store = freshStore()
    const outage = proxy.inject({ fault: 'internal-error', times: 400 })
    await Promise.all(Array.from({ length: 40 }, (_, n) => store.put(`object-${n}`, `${n}`, { onlyIf: 'absent' })))
    expect(outage.hits).toBe(400)
    expect(await keysOf(store)).toHaveLength(40)
  })

  it('of a killed server is outlived by puts, streams, reads, lists and copies', async () => {
    const store = freshStore()
    const content = pattern(partBytes * 3)
    await store.put('large', content)
    const { body } = await store.get('large')
    const reading = body[Symbol.asyncIterator]()
    const first = await reading.next()
    await server.kill()
    const down = untilRetried(10)
    const readRest = (async () => {
      const chunks: Uint8Array[] = [first.value]
      for (let next = await reading.next(); !next.done; next = await reading.next()) chunks.push(next.value)
      return Buffer.concat(chunks)
    })()
    const calls = Promise.all([
      store.put('put', 'content', { onlyIf: 'absent' }),
      store.putStream('streamed', chunked(content, 1_000_000), { onlyIf: 'absent' }),
      store.copy('large', 'copied'),
      keysOf(store, 'large'),
      readRest,
    ])
    await down
    await server.restart()
    await calls
    expect(sha256(await readRest)).toBe(sha256(content))
    expect(sha256(await bytesOf(store, 'streamed'))).toBe(sha256(content))
    expect(sha256(await bytesOf(store, 'copied'))).toBe(sha256(content))
    expect(await textOf(store, 'put')).toBe('content')
  })

  it('in the middle of a stream is outlived by it', async () => {
    const store = freshStore()
    const content = pattern(partBytes * 4 + 3)
    let restarted = Promise.resolve()
    await store.putStream(
      'streamed',
      (async function* () {
        yield* chunked(content.subarray(0, partBytes * 2), 1_000_000)
        await server.kill()
        restarted = untilRetried(5).then(() => server.restart())
        yield* chunked(content.subarray(partBytes * 2), 1_000_000)
      })(),
    )
    await restarted
    expect(sha256(await bytesOf(store, 'streamed'))).toBe(sha256(content))
  })

  it('takes nothing that was acknowledged with it', async () => {
    const store = freshStore()
    const acknowledged: string[] = []
    let isWriting = true
    const writing = (async () => {
      for (let n = 0; isWriting; n++) {
        await store.put(`object-${n}`, `content ${n}`)
        acknowledged.push(`object-${n}`)
      }
    })()
    for (let round = 0; round < 3; round++) {
      await untilTrue(() => acknowledged.length > (round + 1) * 20)
      await server.kill()
      await untilRetried(1)
      await server.restart()
    }
    isWriting = false
    await writing
    for (const key of acknowledged) expect(await textOf(store, key)).toBe(`content ${key.split('-')[1]}`)
  })

  it('longer than the budget ends with what happened', async () => {
    const impatient = createOpenStore({ s3: { ...s3, outageBudgetMs: 300, attemptsPerCall: 1 } })
    proxy.inject({ fault: 'slow-down' })
    const error = await impatient(uri)
      .put('object', 'content')
      .catch((thrown) => thrown)
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(error).toMatchObject({ uri, key: 'object', operation: 'put', isTransient: true })
    expect(error.attempts).toBeGreaterThan(1)
    expect(error.message).toContain('reduce your request rate')
    await impatient.close()
  })

  it('ends for a call whose signal is aborted', async () => {
    const store = freshStore()
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    proxy.inject({ fault: 'drop' })
    void untilRetried(2).then(() => controller.abort(reason))
    await expect(store.put('object', 'content', { signal: controller.signal })).rejects.toBe(reason)
  })

  it('is told with facts before each wait', async () => {
    const store = freshStore()
    const told: Retry[] = []
    const listen = (retry: Retry) => told.push(retry)
    retries.on('retry', listen)
    proxy.inject({ fault: 'conflict', times: 2 })
    await store.put('object', 'content')
    retries.off('retry', listen)
    expect(told.map(({ operation, key, attempts }) => ({ operation, key, attempts }))).toEqual([
      { operation: 'put', key: 'object', attempts: 1 },
      { operation: 'put', key: 'object', attempts: 2 },
    ])
    expect(told[0]?.error.name).toBe('OperationAborted')
  })
})

describe('a refusal', () => {
  it('says why, and never with a secret in it', async () => {
    const secret = 'a-secret-that-nobody-may-see'
    const wrong = createOpenStore({ s3: { ...s3, credentials: { ...testCredentials, secretAccessKey: secret } } })
    const store = wrong(uri)
    const calls: (() => Promise<unknown>)[] = [
      () => store.put('object', 'content'),
      () => store.get('object'),
      () => store.head('object'),
      () => store.putStream('object', chunked(pattern(partBytes + 1), 1_000_000)),
      () => keysOf(store),
    ]
    for (const call of calls) {
      const error = await call().catch((thrown) => thrown)
      expect(error).toBeInstanceOf(StoreRefused)
      expect(error).toMatchObject({ code: 'SignatureDoesNotMatch', status: 403 })
      const shown = `${(error as Error).stack} ${inspect(error, { depth: 10 })} ${JSON.stringify(error)}`
      expect(shown).not.toContain(secret)
      expect(shown).not.toContain(testCredentials.accessKeyId)
    }
    await wrong.close()
  })

  it('of an unknown bucket names it', async () => {
    const nowhere = open('s3://no-such-bucket/store')
    const calls: (() => Promise<unknown>)[] = [
      () => nowhere.head('object'),
      () => nowhere.get('object'),
      () => nowhere.put('object', ''),
      () => keysOf(nowhere),
    ]
    for (const call of calls) {
      const error = await call().catch((thrown) => thrown)
      expect(error).toBeInstanceOf(BucketNotFound)
      expect(error).toMatchObject({ bucket: 'no-such-bucket' })
    }
  })
})

describe('a wrong clock', () => {
  it('is corrected, also where the reply has no body to say so', async () => {
    const store = freshStore()
    await store.put('object', 'content')
    await store.put('empty', '')
    for (const method of ['PUT', 'HEAD', 'GET']) proxy.inject({ fault: 'wrong-clock', method, times: 3 })
    expect((await store.head('object'))?.bytes).toBe(7)
    expect((await store.head('empty'))?.bytes).toBe(0)
    expect(await store.head('absent')).toBeUndefined()
    await store.put('other', 'content')
    expect(await textOf(store, 'other')).toBe('content')
  })
})

describe('an upload that the server drops', () => {
  it('fails as such, to be sent again', async () => {
    const oneAtATime = createOpenStore({ s3: { ...s3, partsInFlight: 1 } })
    const store = oneAtATime(`${uri}-${stores++}`)
    const client = createS3Client(resolveS3Options(server.options()))
    const dropping = async function* () {
      yield* chunked(pattern(partBytes * 2), 1_000_000)
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
      expect(Uploads.length).toBeGreaterThan(0)
      await store.collectLeftovers('', { olderThanMs: -60_000 })
      yield* chunked(pattern(partBytes * 2), 1_000_000)
    }
    const error = await store.putStream('object', dropping()).catch((thrown) => thrown)
    client.destroy()
    await oneAtATime.close()
    expect(error).toBeInstanceOf(UploadLost)
    expect(error.isTransient).toBe(true)
    expect(await keysOf(store)).toEqual([])
  })
})

/** Resolves when the store has been told `count` more times to wait. */
async function untilRetried(count: number): Promise<void> {
  for (let seen = 0; seen < count; seen++) await once(retries, 'retry')
}

async function untilTrue(claim: () => boolean): Promise<void> {
  while (!claim()) await new Promise((resolve) => setImmediate(resolve))
}
