import { expect } from 'vitest'
import { PreconditionFailed } from '../../store/errors.ts'
import { probeConditionalPuts, requireConditionalPuts } from '../../store/probe.ts'
import { bytesOf, chunked, keysOf, pattern, sha256, textOf } from './store-arrange.ts'
import { type Backend, type Case, partBytes } from './store-backend.ts'

export function conditionCases(check: Case, backend: () => Backend): void {
  check('writes once where nothing is', async () => {
    const store = backend().fresh()
    await store.put('object', 'first', { onlyIf: 'absent' })
    expect(await textOf(store, 'object')).toBe('first')
  })

  check('refuses to write once over an object and leaves it as it is', async () => {
    const store = backend().fresh()
    const first = await store.put('object', 'first')
    const error = await store.put('object', 'second', { onlyIf: 'absent' }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(PreconditionFailed)
    expect(error).toMatchObject({ uri: store.uri, key: 'object', required: 'absent' })
    expect(await textOf(store, 'object')).toBe('first')
    expect((await store.head('object'))?.etag).toBe(first.etag)
  })

  check('refuses to write once even the same content', async () => {
    const store = backend().fresh()
    await store.put('object', 'same', { onlyIf: 'absent' })
    await expect(store.put('object', 'same', { onlyIf: 'absent' })).rejects.toThrow(PreconditionFailed)
  })

  check('refuses to write once over an empty object', async () => {
    const store = backend().fresh()
    await store.put('object', '', { onlyIf: 'absent' })
    await expect(store.put('object', 'content', { onlyIf: 'absent' })).rejects.toThrow(PreconditionFailed)
  })

  check('writes once again after the object was removed', async () => {
    const store = backend().fresh()
    await store.put('object', 'first', { onlyIf: 'absent' })
    await store.delete('object')
    await store.put('object', 'second', { onlyIf: 'absent' })
    expect(await textOf(store, 'object')).toBe('second')
  })

  check('swaps the version that it was shown', async () => {
    const store = backend().fresh()
    const first = await store.put('object', 'first')
    const second = await store.put('object', 'second', { onlyIf: { etag: first.etag } })
    expect(second.etag).not.toBe(first.etag)
    expect(await textOf(store, 'object')).toBe('second')
  })

  check('takes the etag of head, get and list alike', async () => {
    const store = backend().fresh()
    await store.put('object', 'content')
    const head = await store.head('object')
    const get = await store.get('object')
    await get.body[Symbol.asyncIterator]().return?.()
    let listed = ''
    for await (const { etag } of store.list('')) listed = etag
    expect([get.etag, listed]).toEqual([head?.etag, head?.etag])
    await store.put('object', 'swapped', { onlyIf: { etag: listed } })
    expect(await textOf(store, 'object')).toBe('swapped')
  })

  check('refuses to swap another version', async () => {
    const store = backend().fresh()
    const first = await store.put('object', 'first')
    await store.put('object', 'second')
    const error = await store.put('object', 'third', { onlyIf: { etag: first.etag } }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(PreconditionFailed)
    expect(error.required).toEqual({ etag: first.etag })
    expect(await textOf(store, 'object')).toBe('second')
  })

  check('swaps a version only once', async () => {
    const store = backend().fresh()
    const { etag } = await store.put('object', 'first')
    await store.put('object', 'second', { onlyIf: { etag } })
    await expect(store.put('object', 'third', { onlyIf: { etag } })).rejects.toThrow(PreconditionFailed)
  })

  check('refuses to swap an object that is gone', async () => {
    const store = backend().fresh()
    const { etag } = await store.put('object', 'first')
    await store.delete('object')
    await expect(store.put('object', 'second', { onlyIf: { etag } })).rejects.toThrow(PreconditionFailed)
    expect(await keysOf(store)).toEqual([])
  })

  check('swaps to and from an empty object', async () => {
    const store = backend().fresh()
    const first = await store.put('object', 'first')
    const empty = await store.put('object', '', { onlyIf: { etag: first.etag } })
    await store.put('object', 'third', { onlyIf: { etag: empty.etag } })
    expect(await textOf(store, 'object')).toBe('third')
  })

  for (const [size, bytes] of [
    ['small', 1_000],
    ['large', partBytes * 2 + 17],
  ] as const) {
    const content = () => pattern(bytes, 2)
    const stream = () => chunked(content(), 300_000)

    check(`writes a ${size} stream once`, async () => {
      const store = backend().fresh()
      await store.putStream('object', stream(), { onlyIf: 'absent' })
      expect(sha256(await bytesOf(store, 'object'))).toBe(sha256(content()))
    })

    check(`refuses to write a ${size} stream over an object`, async () => {
      const store = backend().fresh()
      await store.put('object', 'first')
      await expect(store.putStream('object', stream(), { onlyIf: 'absent' })).rejects.toThrow(PreconditionFailed)
      expect(await textOf(store, 'object')).toBe('first')
      expect(await store.collectLeftovers('', { olderThanMs: -60_000 })).toEqual([])
    })

    check(`swaps a version for a ${size} stream`, async () => {
      const store = backend().fresh()
      const { etag } = await store.put('object', 'first')
      await store.putStream('object', stream(), { onlyIf: { etag } })
      expect(sha256(await bytesOf(store, 'object'))).toBe(sha256(content()))
    })

    check(`refuses to swap another version for a ${size} stream`, async () => {
      const store = backend().fresh()
      const { etag } = await store.put('object', 'first')
      await store.put('object', 'second')
      await expect(store.putStream('object', stream(), { onlyIf: { etag } })).rejects.toThrow(PreconditionFailed)
      expect(await textOf(store, 'object')).toBe('second')
    })
  }

  check('are found to hold when probed, leaving nothing behind', async () => {
    const store = backend().fresh()
    expect(await probeConditionalPuts(store)).toEqual({ absent: true, etag: true, absentInParts: true })
    await requireConditionalPuts(store)
    expect(await keysOf(store)).toEqual([])
  })
}
