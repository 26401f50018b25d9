import { expect } from 'vitest'
import type { DurableStore, Leftover } from '../../store/store.ts'
import { keysOf, textOf } from './store-arrange.ts'
import type { Backend, Case } from './store-backend.ts'

/** Longer ago than anything of the test, also on a clock that is somewhat ahead. */
const any = { olderThanMs: -60_000 }
const anHour = { olderThanMs: 3_600_000 }

export function leftoverCases(check: Case, backend: () => Backend): void {
  const withLeftovers = async () => {
    const store = backend().fresh()
    await store.put('a/object', 'content')
    await backend().leaveUnfinishedWrite(store, 'a/object')
    await backend().leaveUnfinishedWrite(store, 'a/new')
    await backend().leaveUnfinishedWrite(store, 'b/new')
    return store
  }

  check('of killed writers are invisible', async () => {
    const store = await withLeftovers()
    expect(await keysOf(store)).toEqual(['a/object'])
    expect(await keysOf(store, 'a/')).toEqual(['a/object'])
    expect(await store.head('a/new')).toBeUndefined()
    expect(await textOf(store, 'a/object')).toBe('content')
  })

  check('of killed writers are told and collected', async () => {
    const store = await withLeftovers()
    const told = await leftoversOf(store, '')
    expect(told.length).toBe(3)
    for (const { startedAt } of told) expect(Math.abs(startedAt.getTime() - Date.now())).toBeLessThan(60_000)
    const collected = await store.collectLeftovers('', any)
    expect(collected.map(({ key }) => key).sort()).toEqual(told.map(({ key }) => key).sort())
    expect(await leftoversOf(store, '')).toEqual([])
    expect(await keysOf(store)).toEqual(['a/object'])
  })

  check('of killed writers are collected below a prefix only', async () => {
    const store = await withLeftovers()
    expect((await store.collectLeftovers('b/', any)).length).toBe(1)
    expect((await leftoversOf(store, '')).length).toBe(2)
  })

  check('of killed writers do not keep another writer from writing', async () => {
    const store = await withLeftovers()
    await store.put('a/new', 'written', { onlyIf: 'absent' })
    await store.put('a/object', 'replaced')
    expect([await textOf(store, 'a/new'), await textOf(store, 'a/object')]).toEqual(['written', 'replaced'])
  })

  check('are not what a living writer is at', async () => {
    const store = backend().fresh()
    let collected: Leftover[] = []
    await store.putStream(
      'object',
      (async function* () {
        for (let round = 0; round < 12; round++) yield Buffer.alloc(1_000_000, round)
        collected = await store.collectLeftovers('', anHour)
        yield Buffer.from('the end')
      })(),
    )
    expect(collected).toEqual([])
    expect((await store.head('object'))?.bytes).toBe(12_000_007)
  })
}

async function leftoversOf(store: DurableStore, prefix: string): Promise<Leftover[]> {
  const leftovers: Leftover[] = []
  for await (const leftover of store.leftovers(prefix, any)) leftovers.push(leftover)
  return leftovers
}
