import { expect } from 'vitest'
import { InvalidKey } from '../../store/errors.ts'
import { keysOf, textOf } from './store-arrange.ts'
import type { Backend, Case } from './store-backend.ts'

const usable = [
  'umlaut/größe.json',
  '日本語/データ.jsonl',
  'emoji-😀-👩‍👩‍👧',
  'with space/and  two',
  'plus+and%20percent%2Fslash%',
  'question?mark#hash&and=equals;semicolon',
  `quotes'"and\`tick`,
  'brackets[](){}<>',
  'at@colon:comma,dollar$star*bang!tilde~caret^pipe|',
  '.hidden/..twice/...',
  'dots.in..the.name.',
  '-dash/_underscore',
  'ligature-ﬁ-\u00e9-composed',
  'ligature-ﬁ-e\u0301-decomposed',
]

const unusable: [key: string, why: string][] = [
  ['', 'empty'],
  ['/leading', 'slash'],
  ['trailing/', 'slash'],
  ['two//slashes', 'empty name'],
  ['.', 'name .'],
  ['..', 'name ..'],
  ['up/../and/away', 'name ..'],
  ['here/./there', 'name .'],
  ['new\nline', 'control character'],
  ['nul\0byte', 'control character'],
  ['delete\u007f', 'control character'],
  ['back\\slash', 'backslash'],
  ['half-\ud83d-pair', 'surrogate'],
  [`long/${'x'.repeat(256)}`, '255 bytes'],
  [`long/${'ü'.repeat(128)}`, '255 bytes'],
  [Array.from({ length: 30 }, () => 'x'.repeat(40)).join('/'), '1024 bytes'],
  ['folder/.~longhaul-tmp-mine', 'own'],
]

export function keyCases(check: Case, backend: () => Backend): void {
  for (const key of [...usable, `${'ü'.repeat(127)}x`, Array.from({ length: 40 }, (_, n) => `level${n}`).join('/')]) {
    check(`can be ${JSON.stringify(key.slice(0, 60))}`, async () => {
      const store = backend().fresh()
      await store.put(key, 'content')
      expect((await store.head(key))?.key).toBe(key)
      expect(await keysOf(store)).toEqual([key])
      expect(await keysOf(store, key)).toEqual([key])
      await store.copy(key, `copies/${key}`)
      expect(await textOf(store, `copies/${key}`)).toBe('content')
      await store.delete(key)
      expect(await store.head(key)).toBeUndefined()
    })
  }

  for (const [key, why] of unusable) {
    check(`cannot be ${JSON.stringify(key.slice(0, 60))}`, async () => {
      const store = backend().fresh()
      await store.put('object', 'content')
      const calls = [
        () => store.put(key, 'content'),
        () => store.putStream(key, (async function* () {})()),
        () => store.get(key),
        () => store.head(key),
        () => store.copy('object', key),
        () => store.copy(key, 'object'),
        () => store.delete(key),
      ]
      for (const call of calls) {
        const error = await call().catch((thrown) => thrown)
        expect(error).toBeInstanceOf(InvalidKey)
        expect(error.message).toContain(why)
      }
    })
  }

  check('differ by case and by normalisation', async () => {
    const store = backend().fresh()
    const keys = ['Name', 'name', 'NAME', 'caf\u00e9', 'cafe\u0301']
    for (const key of keys) await store.put(key, key)
    for (const key of keys) expect(await textOf(store, key)).toBe(key)
  })
}
