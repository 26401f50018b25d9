import { expect } from 'vitest'
import { copyObject } from '../../store/copy-object.ts'
import { ObjectNotFound, PreconditionFailed } from '../../store/errors.ts'
import { bytesOf, chunked, keysOf, pattern, sha256, textOf } from './store-arrange.ts'
import { type Backend, type Case, partBytes } from './store-backend.ts'

export function copyCases(check: Case, backend: () => Backend): void {
  for (const [size, bytes] of [
    ['an empty', 0],
    ['a small', 1_000],
    // Above the limit that the contract sets for a copy in one request.
    ['a large', partBytes * 3 + 7],
  ] as const) {
    check(`copies ${size} object`, async () => {
      const store = backend().fresh()
      const content = pattern(bytes, 5)
      await store.putStream('original', chunked(content, 1_000_000))
      const info = await store.copy('original', 'deeper/copy')
      expect(info).toMatchObject({ key: 'deeper/copy', bytes, etag: (await store.head('deeper/copy'))?.etag })
      expect(sha256(await bytesOf(store, 'deeper/copy'))).toBe(sha256(content))
      expect(sha256(await bytesOf(store, 'original'))).toBe(sha256(content))
    })

    check(`copies ${size} object once`, async () => {
      const store = backend().fresh()
      const content = pattern(bytes, 6)
      await store.putStream('original', chunked(content, 1_000_000))
      await store.copy('original', 'copy', { onlyIf: 'absent' })
      expect(sha256(await bytesOf(store, 'copy'))).toBe(sha256(content))
      await store.put('taken', 'content of another')
      await expect(store.copy('original', 'taken', { onlyIf: 'absent' })).rejects.toThrow(PreconditionFailed)
      expect(await textOf(store, 'taken')).toBe('content of another')
    })
  }

  check('copies over an object', async () => {
    const store = backend().fresh()
    await store.put('original', 'new')
    await store.put('copy', 'old')
    await store.copy('original', 'copy')
    expect(await textOf(store, 'copy')).toBe('new')
  })

  check('copies over a version only', async () => {
    const store = backend().fresh()
    await store.put('original', 'new')
    const { etag } = await store.put('copy', 'old')
    await store.copy('original', 'copy', { onlyIf: { etag } })
    expect(await textOf(store, 'copy')).toBe('new')
    await expect(store.copy('original', 'copy', { onlyIf: { etag } })).rejects.toThrow(PreconditionFailed)
  })

  check('says which original is absent', async () => {
    const store = backend().fresh()
    const error = await store.copy('absent', 'copy').catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ObjectNotFound)
    expect(error.key).toBe('absent')
    expect(await keysOf(store)).toEqual([])
  })

  check('keeps a copy when its original changes', async () => {
    const store = backend().fresh()
    await store.put('original', 'first')
    await store.copy('original', 'copy')
    await store.put('original', 'second')
    await store.delete('original')
    expect(await textOf(store, 'copy')).toBe('first')
  })

  check('copies between two stores of one place without reading', async () => {
    const [from, to] = [backend().fresh(), backend().fresh()]
    const content = pattern(partBytes + 7, 7)
    await from.putStream('größe/original', chunked(content, 1_000_000))
    expect(await to.copyFrom?.(from, 'größe/original', 'copy +%')).toMatchObject({ bytes: content.length })
    expect(sha256(await bytesOf(to, 'copy +%'))).toBe(sha256(content))
  })

  check('copies to and from a store that has nothing in common with it', async () => {
    const [here, there] = [backend().fresh(), backend().fresh()]
    // Hidden behind another type, so that neither side knows a short way.
    const stranger = new Proxy(there, {
      get(target, name) {
        if (name === 'copyFrom') return async () => undefined
        const member = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
      getPrototypeOf: () => Object.prototype,
    })
    const content = pattern(partBytes + 7, 8)
    await here.putStream('original', chunked(content, 1_000_000))
    await copyObject({ store: here, key: 'original' }, { store: stranger, key: 'copy' })
    await copyObject({ store: stranger, key: 'copy' }, { store: here, key: 'back' }, { onlyIf: 'absent' })
    expect(sha256(await bytesOf(here, 'back'))).toBe(sha256(content))
    await expect(copyObject({ store: stranger, key: 'absent' }, { store: here, key: 'new' })).rejects.toThrow(
      ObjectNotFound,
    )
  })
}
