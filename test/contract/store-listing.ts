import { expect } from 'vitest'
import { InvalidKey } from '../../store/errors.ts'
import { compareKeys } from '../../store/keys.ts'
import { keysOf, textOf } from './store-arrange.ts'
import type { Backend, Case } from './store-backend.ts'

export function listCases(check: Case, backend: () => Backend): void {
  const filled = async (keys: string[]) => {
    const store = backend().fresh()
    await Promise.all(keys.map((key) => store.put(key, key)))
    return store
  }

  check('list nothing of an empty store', async () => {
    expect(await keysOf(backend().fresh())).toEqual([])
    expect(await keysOf(backend().fresh(), 'any/prefix/')).toEqual([])
  })

  check('come in the order of the UTF-8 bytes of the keys', async () => {
    const keys = ['a/b', 'a-b', 'a.b', 'a', 'a0', 'a/b.c', 'a/b-c', 'A', 'ä', 'z', '\uffee', '😀', 'a b', 'ab/c', 'ab']
    // On a file system a key cannot be another's folder.
    const store = await filled(keys.filter((key) => key !== 'a' && key !== 'ab'))
    const expected = keys.filter((key) => key !== 'a' && key !== 'ab').sort(compareKeys)
    expect(await keysOf(store)).toEqual(expected)
  })

  check('start at a folder', async () => {
    const store = await filled(['a/1', 'a/2', 'a/b/3', 'ab/4', 'b/5'])
    expect(await keysOf(store, 'a/')).toEqual(['a/1', 'a/2', 'a/b/3'])
    expect(await keysOf(store, 'a/b/')).toEqual(['a/b/3'])
  })

  check('start within a name', async () => {
    const store = await filled(['runs/alpha/x', 'runs/alps/y', 'runs/beta/z', 'runs-old/w'])
    expect(await keysOf(store, 'runs/al')).toEqual(['runs/alpha/x', 'runs/alps/y'])
    expect(await keysOf(store, 'runs')).toEqual(['runs-old/w', 'runs/alpha/x', 'runs/alps/y', 'runs/beta/z'])
    expect(await keysOf(store, 'runs/alpha/x')).toEqual(['runs/alpha/x'])
    expect(await keysOf(store, 'runs/alpha/xy')).toEqual([])
  })

  check('refuse a prefix that no key can have', async () => {
    const store = backend().fresh()
    for (const prefix of ['/', '/a', 'a//', 'a/../b', '../', 'a\n']) {
      await expect(keysOf(store, prefix)).rejects.toThrow(InvalidKey)
    }
  })

  check('tell size and etag as head does', async () => {
    const store = await filled(['a', 'b/größer'])
    for await (const listed of store.list('')) expect(listed).toEqual(await store.head(listed.key))
  })

  check('go over pages of a thousand', async () => {
    const keys = Array.from({ length: 1_050 }, (_, n) => `pages/${String(n).padStart(5, '0')}`)
    const store = backend().fresh()
    for (let start = 0; start < keys.length; start += 150) {
      await Promise.all(keys.slice(start, start + 150).map((key) => store.put(key, '')))
    }
    expect(await keysOf(store)).toEqual(keys)
    expect((await keysOf(store, 'pages/0104')).length).toBe(10)
  })

  check('can be broken off and begun again', async () => {
    const store = await filled(['a', 'b', 'c'])
    for await (const { key } of store.list('')) if (key === 'b') break
    expect(await keysOf(store)).toEqual(['a', 'b', 'c'])
  })

  check('no longer contain what was removed', async () => {
    const store = await filled(['a/1', 'a/2'])
    await store.delete('a/1')
    expect(await keysOf(store)).toEqual(['a/2'])
    await store.delete('a/2')
    expect(await keysOf(store)).toEqual([])
  })

  check('contain every object that was there all along, while others come and go', async () => {
    const steady = Array.from({ length: 30 }, (_, n) => `steady/${n + 10}`)
    const store = await filled(steady)
    let isBusy = true
    const busy = (async () => {
      for (let round = 0; round < 40; round++) {
        await store.put(`coming/${round}/object`, '')
        await store.delete(`coming/${round}/object`)
      }
      isBusy = false
    })()
    while (isBusy) expect((await keysOf(store)).filter((key) => key.startsWith('steady/'))).toEqual(steady)
    await busy
  })

  check('end when their signal is aborted', async () => {
    const store = await filled(Array.from({ length: 20 }, (_, n) => `folder-${n}/object`))
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    const listing = (async () => {
      // Both stores look up the next folder or page only when it is asked for.
      for await (const _ of store.list('', { signal: controller.signal })) controller.abort(reason)
      controller.signal.throwIfAborted()
    })()
    await expect(listing).rejects.toBe(reason)
  })

  check('show a store below another one by its own keys', async () => {
    const store = await filled(['inner/a', 'inner/b/c', 'other'])
    const inner = backend().open(`${store.uri}/inner`)
    expect(await keysOf(inner)).toEqual(['a', 'b/c'])
    expect(await textOf(inner, 'b/c')).toBe('inner/b/c')
    await inner.put('d', 'from within')
    expect(await textOf(store, 'inner/d')).toBe('from within')
  })
}
