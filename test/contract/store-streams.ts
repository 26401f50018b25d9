import { expect } from 'vitest'
import { bytesOf, chunked, collect, keysOf, pattern, sha256, textOf } from './store-arrange.ts'
import { type Backend, type Case, partBytes } from './store-backend.ts'

export function streamCases(check: Case, backend: () => Backend): void {
  const sizes: [title: string, bytes: number, chunkBytes: number][] = [
    ['nothing', 0, 1],
    ['a few bytes, one at a time', 300, 1],
    ['one chunk', 70_000, 70_000],
    ['one byte less than a part', partBytes - 1, 500_000],
    ['exactly a part', partBytes, 500_000],
    ['one byte more than a part', partBytes + 1, 500_000],
    ['exactly two parts', partBytes * 2, 65_536],
    ['parts and a rest', partBytes * 3 + 12_345, 777_777],
    ['chunks larger than a part', partBytes * 2 + 5, partBytes + 3],
  ]
  for (const [title, bytes, chunkBytes] of sizes) {
    check(`stores a stream of ${title}`, async () => {
      const store = backend().fresh()
      const content = pattern(bytes, 3)
      const info = await store.putStream('streamed', chunked(content, chunkBytes))
      expect(info).toMatchObject({ key: 'streamed', bytes })
      expect(await store.head('streamed')).toMatchObject({ bytes, etag: info.etag })
      expect(sha256(await bytesOf(store, 'streamed'))).toBe(sha256(content))
    })
  }

  check('reads ranges across the parts of a streamed object', async () => {
    const store = backend().fresh()
    const content = pattern(partBytes * 2 + 100, 4)
    await store.putStream('streamed', chunked(content, 1_000_000))
    for (const [start, end] of [
      [partBytes - 10, partBytes + 10],
      [partBytes, partBytes * 2],
      [partBytes * 2 - 1, partBytes * 2 + 100],
    ] as const) {
      const { body } = await store.get('streamed', { range: { start, end } })
      expect(sha256(await collect(body))).toBe(sha256(content.subarray(start, end)))
    }
  })

  check('takes empty chunks in a stream', async () => {
    const store = backend().fresh()
    await store.putStream(
      'streamed',
      (async function* () {
        yield Buffer.alloc(0)
        yield Buffer.from('a')
        yield Buffer.alloc(0)
        yield Buffer.from('b')
      })(),
    )
    expect(await textOf(store, 'streamed')).toBe('ab')
  })

  for (const [size, good] of [
    ['small', 1_000],
    ['large', partBytes * 2],
  ] as const) {
    check(`stores nothing of a ${size} stream whose source fails`, async () => {
      const store = backend().fresh()
      await store.put('kept', 'old content')
      // As of a source that reads files: the store must not take it for a failure of its own.
      const failure = Object.assign(new Error('the source broke'), { code: 'ENOENT', syscall: 'open' })
      const failing = async function* () {
        yield* chunked(pattern(good), 500_000)
        throw failure
      }
      await expect(store.putStream('new', failing())).rejects.toBe(failure)
      await expect(store.putStream('kept', failing())).rejects.toBe(failure)
      expect(await keysOf(store)).toEqual(['kept'])
      expect(await textOf(store, 'kept')).toBe('old content')
      expect(await store.collectLeftovers('', { olderThanMs: -60_000 })).toEqual([])
    })
  }

  check('shows nothing of a stream before it is complete', async () => {
    const store = backend().fresh()
    const seen: unknown[] = []
    await store.putStream(
      'streamed',
      (async function* () {
        yield* chunked(pattern(partBytes * 2 + 1), 1_000_000)
        seen.push(await store.head('streamed'), await keysOf(store))
      })(),
    )
    expect(seen).toEqual([undefined, []])
    expect(await keysOf(store)).toEqual(['streamed'])
  })

  check('stores nothing of a stream that is aborted, and lets its source clean up', async () => {
    const store = backend().fresh()
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    let isCleanedUp = false
    const endless = async function* () {
      try {
        for (let round = 0; ; round++) {
          if (round === 12) controller.abort(reason)
          yield pattern(1_000_000)
        }
      } finally {
        isCleanedUp = true
      }
    }
    await expect(store.putStream('streamed', endless(), { signal: controller.signal })).rejects.toBe(reason)
    expect(isCleanedUp).toBe(true)
    expect(await keysOf(store)).toEqual([])
    expect(await store.collectLeftovers('', { olderThanMs: -60_000 })).toEqual([])
  })

  check('keeps the memory of a stream bounded', async () => {
    const store = backend().fresh()
    const chunk = pattern(1_000_000)
    const rounds = 160
    let highest = 0
    const base = process.memoryUsage().rss
    await store.putStream(
      'streamed',
      (async function* () {
        for (let round = 0; round < rounds; round++) {
          highest = Math.max(highest, process.memoryUsage().rss - base)
          yield chunk
        }
      })(),
    )
    let bytes = 0
    for await (const read of (await store.get('streamed')).body) {
      bytes += read.length
      highest = Math.max(highest, process.memoryUsage().rss - base)
    }
    expect(bytes).toBe(rounds * chunk.length)
    expect(highest).toBeLessThan(130_000_000)
  })
}
