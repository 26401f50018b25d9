import { expect } from 'vitest'
import { ObjectNotFound, PreconditionFailed, RangeNotSatisfiable } from '../../store/errors.ts'
import { readBytes } from '../../store/read-object.ts'
import { bytesOf, collect, pattern, sha256, textOf } from './store-arrange.ts'
import type { Backend, Case } from './store-backend.ts'

export function objectCases(check: Case, backend: () => Backend): void {
  check('gives back the bytes that were put', async () => {
    const store = backend().fresh()
    const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    await store.put('object', everyByte)
    expect([...(await bytesOf(store, 'object'))]).toEqual([...everyByte])
  })

  check('stores a string as UTF-8', async () => {
    const store = backend().fresh()
    const { bytes } = await store.put('object', 'größer als 日本 😀\n')
    expect(bytes).toBe(Buffer.byteLength('größer als 日本 😀\n'))
    expect(await textOf(store, 'object')).toBe('größer als 日本 😀\n')
  })

  check('stores an empty object', async () => {
    const store = backend().fresh()
    expect((await store.put('empty', '')).bytes).toBe(0)
    expect((await store.head('empty'))?.bytes).toBe(0)
    expect((await bytesOf(store, 'empty')).length).toBe(0)
  })

  check('stores an object of several megabytes in one put', async () => {
    const store = backend().fresh()
    const content = pattern(7_000_003)
    await store.put('large', content)
    expect(sha256(await bytesOf(store, 'large'))).toBe(sha256(content))
  })

  check('stores only its own part of a larger buffer', async () => {
    const store = backend().fresh()
    await store.put('part', Buffer.from('before|inside|after').subarray(7, 13))
    expect(await textOf(store, 'part')).toBe('inside')
  })

  check('replaces an object and its etag', async () => {
    const store = backend().fresh()
    const first = await store.put('object', 'first content')
    const second = await store.put('object', 'other content')
    expect(second.etag).not.toBe(first.etag)
    expect(await textOf(store, 'object')).toBe('other content')
  })

  check('gives another etag to other content of the same size, however fast it follows', async () => {
    const store = backend().fresh()
    const etags = new Set<string>()
    for (let round = 0; round < 40; round++) etags.add((await store.put('object', `content ${round + 100}`)).etag)
    expect(etags.size).toBe(40)
  })

  check('answers a put with what head says afterwards', async () => {
    const store = backend().fresh()
    const put = await store.put('a/b/object', 'content', { contentType: 'text/plain' })
    const head = await store.head('a/b/object')
    expect(head).toMatchObject({ key: 'a/b/object', bytes: 7, etag: put.etag })
    expect(Math.abs(Number(head?.modifiedAt) - Date.now())).toBeLessThan(60_000)
  })

  check('opens an object with what head says', async () => {
    const store = backend().fresh()
    await store.put('object', 'content')
    const { body, ...info } = await store.get('object')
    await collect(body)
    expect(info).toEqual(await store.head('object'))
  })

  check('knows no facts of an absent object', async () => {
    const store = backend().fresh()
    await store.put('folder/object', 'content')
    expect(await store.head('absent')).toBeUndefined()
    expect(await store.head('folder')).toBeUndefined()
    expect(await store.head('folder/object/below')).toBeUndefined()
  })

  check('says which object is absent', async () => {
    const store = backend().fresh()
    const error = await store.get('a/absent').catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ObjectNotFound)
    expect(error).toMatchObject({ uri: store.uri, key: 'a/absent', isTransient: false })
    expect(error.message).toContain(`${store.uri}/a/absent`)
  })

  check('takes a folder for no object', async () => {
    const store = backend().fresh()
    await store.put('folder/object', 'content')
    await expect(store.get('folder')).rejects.toThrow(ObjectNotFound)
  })

  check('removes an object', async () => {
    const store = backend().fresh()
    await store.put('object', 'content')
    await store.delete('object')
    expect(await store.head('object')).toBeUndefined()
    await expect(store.get('object')).rejects.toThrow(ObjectNotFound)
  })

  check('removes an absent object without complaint', async () => {
    const store = backend().fresh()
    await store.put('a/object', 'content')
    await store.delete('absent')
    await store.delete('absent/deeper/still')
    await store.delete('a/object/below')
    expect(await textOf(store, 'a/object')).toBe('content')
  })

  check('keeps the objects below a key that is removed', async () => {
    const store = backend().fresh()
    await store.put('a/b/object', 'content')
    await store.delete('a')
    await store.delete('a/b')
    expect(await textOf(store, 'a/b/object')).toBe('content')
  })

  check('lets a name be an object once the objects below it are gone', async () => {
    const store = backend().fresh()
    await store.put('a/b/object', 'content')
    await store.delete('a/b/object')
    await store.put('a', 'now an object')
    expect(await textOf(store, 'a')).toBe('now an object')
  })

  check('puts an object again after it was removed', async () => {
    const store = backend().fresh()
    await store.put('object', 'content')
    await store.delete('object')
    await store.put('object', 'content')
    expect(await textOf(store, 'object')).toBe('content')
  })

  const alphabet = 'abcdefghijklmnopqrstuvwxyz'
  const ranges: [title: string, range: { start: number; end?: number }, expected: string][] = [
    ['the first byte', { start: 0, end: 1 }, 'a'],
    ['the last byte', { start: 25, end: 26 }, 'z'],
    ['the middle', { start: 10, end: 13 }, 'klm'],
    ['the rest', { start: 20 }, 'uvwxyz'],
    ['the whole', { start: 0 }, alphabet],
    ['the rest when the end lies beyond', { start: 23, end: 1_000 }, 'xyz'],
  ]
  for (const [title, range, expected] of ranges) {
    check(`reads a range: ${title}`, async () => {
      const store = backend().fresh()
      await store.put('alphabet', alphabet)
      const { body, bytes } = await store.get('alphabet', { range })
      expect((await collect(body)).toString()).toBe(expected)
      expect(bytes).toBe(26)
    })
  }

  check('refuses a range that begins at or beyond the end', async () => {
    const store = backend().fresh()
    await store.put('alphabet', alphabet)
    await store.put('empty', '')
    for (const [key, start] of [
      ['alphabet', 26],
      ['alphabet', 5_000],
      ['empty', 0],
    ] as const) {
      const error = await store.get(key, { range: { start, end: start + 1 } }).catch((thrown) => thrown)
      expect(error).toBeInstanceOf(RangeNotSatisfiable)
      expect(error).toMatchObject({ key, start })
    }
  })

  check('refuses a range that no object can satisfy', async () => {
    const store = backend().fresh()
    await store.put('alphabet', alphabet)
    for (const range of [{ start: -1 }, { start: 1.5 }, { start: 3, end: 3 }, { start: 3, end: 2 }]) {
      await expect(store.get('alphabet', { range })).rejects.toThrow(RangeError)
    }
  })

  check('reads only the version that was asked for', async () => {
    const store = backend().fresh()
    const first = await store.put('object', 'first')
    const { body } = await store.get('object', { ifMatch: first.etag, range: { start: 1, end: 3 } })
    expect((await collect(body)).toString()).toBe('ir')
    await store.put('object', 'second')
    const error = await store.get('object', { ifMatch: first.etag }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(PreconditionFailed)
    expect(error.required).toEqual({ etag: first.etag })
  })

  check('hands out a body once', async () => {
    const store = backend().fresh()
    await store.put('object', 'content')
    const { body } = await store.get('object')
    await collect(body)
    await expect(collect(body)).rejects.toThrow('read already')
  })

  check('stays usable when readers break off', async () => {
    const store = backend().fresh()
    await store.put('large', pattern(1_000_000))
    for (let round = 0; round < 100; round++) {
      const { body } = await store.get('large')
      for await (const chunk of body) if (chunk.length > 0) break
    }
    expect((await bytesOf(store, 'large')).length).toBe(1_000_000)
  })

  check('stays usable when bodies are given back unread', async () => {
    const store = backend().fresh()
    await store.put('large', pattern(1_000_000))
    for (let round = 0; round < 100; round++) {
      const { body } = await store.get('large')
      await body[Symbol.asyncIterator]().return?.()
    }
    expect((await bytesOf(store, 'large')).length).toBe(1_000_000)
  })

  check('shows a reader one version of an object that is replaced meanwhile', async () => {
    const store = backend().fresh()
    const versions = [pattern(300_000, 1), pattern(300_000, 2)]
    await store.put('object', versions[0]!)
    let isWriting = true
    const writing = (async () => {
      for (let round = 1; round <= 30; round++) await store.put('object', versions[round % 2]!)
      isWriting = false
    })()
    const whole = new Set(versions.map(sha256))
    while (isWriting) expect(whole).toContain(sha256(await readBytes(store, 'object')))
    await writing
  })

  check('serves many readers at once', async () => {
    const store = backend().fresh()
    const content = pattern(200_000)
    await store.put('object', content)
    const hashes = await Promise.all(Array.from({ length: 100 }, async () => sha256(await bytesOf(store, 'object'))))
    expect(new Set(hashes)).toEqual(new Set([sha256(content)]))
  })

  check('takes many writers at once', async () => {
    const store = backend().fresh()
    const keys = Array.from({ length: 100 }, (_, n) => `folder-${n % 7}/object-${n}`)
    await Promise.all(keys.map((key) => store.put(key, key)))
    expect(await Promise.all(keys.map((key) => textOf(store, key)))).toEqual(keys)
  })

  check('ends every call whose signal is aborted already', async () => {
    const store = backend().fresh()
    await store.put('object', 'content')
    const reason = new Error('no longer wanted')
    const signal = AbortSignal.abort(reason)
    const calls = [
      () => store.put('new', 'content', { signal }),
      () => store.putStream('new', (async function* () {})(), { signal }),
      () => store.get('object', { signal }),
      () => store.head('object', { signal }),
      () => store.list('', { signal })[Symbol.asyncIterator]().next(),
      () => store.copy('object', 'new', { signal }),
      () => store.delete('object', { signal }),
    ]
    for (const call of calls) await expect(call()).rejects.toBe(reason)
    expect(await store.head('new')).toBeUndefined()
    expect(await textOf(store, 'object')).toBe('content')
  })

  check('ends a body whose signal is aborted in the middle', async () => {
    const store = backend().fresh()
    await store.put('large', pattern(8_000_000))
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    const { body } = await store.get('large', { signal: controller.signal })
    const reading = (async () => {
      for await (const _ of body) controller.abort(reason)
    })()
    await expect(reading).rejects.toBe(reason)
  })
}
