import { expect } from 'vitest'
import { PreconditionFailed } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import { readJsonVersion } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { bytesOf, chunked, pattern, sha256, textOf } from './store-arrange.ts'
import { type Backend, type Case, partBytes } from './store-backend.ts'

const writers = Array.from({ length: 8 }, (_, writer) => writer)

export function raceCases(check: Case, backend: () => Backend): void {
  check(`of ${writers.length} write-once writers have one winner every time`, async () => {
    const store = backend().fresh()
    for (let round = 0; round < backend().raceRounds; round++) {
      const key = `round-${round}`
      const won = await winners((writer) => store.put(key, `writer ${writer}`, { onlyIf: 'absent' }))
      expect(won.length).toBe(1)
      expect(await textOf(store, key)).toBe(`writer ${won[0]}`)
    }
  })

  check(`of ${writers.length} swapping writers have one winner every time`, async () => {
    const store = backend().fresh()
    let { etag } = await store.put('object', 'start')
    for (let round = 0; round < backend().raceRounds; round++) {
      const seen = etag
      const won = await winners((writer) =>
        store.put('object', `round ${round} writer ${writer}`, { onlyIf: { etag: seen } }),
      )
      expect(won.length).toBe(1)
      expect(await textOf(store, 'object')).toBe(`round ${round} writer ${won[0]}`)
      etag = (await store.head('object'))?.etag ?? ''
    }
  })

  check('of counting writers lose no count', async () => {
    const store = backend().fresh()
    await store.put('counter', '{"count":0}')
    await Promise.all(writers.map(() => countTo(store, 10)))
    expect(await textOf(store, 'counter')).toBe(`{"count":${writers.length * 10}}`)
  })

  check('of unconditional and swapping writers never undo what was acknowledged last', async () => {
    const store = backend().fresh()
    for (let round = 0; round < backend().raceRounds / 2; round++) {
      const { etag } = await store.put('object', 'start')
      const [, swapped] = await Promise.allSettled([
        store.put('object', 'unconditional'),
        store.put('object', 'swapped', { onlyIf: { etag } }),
      ])
      // The swap comes first and is overwritten, or comes second and must fail.
      expect(await textOf(store, 'object')).toBe('unconditional')
      if (swapped.status === 'rejected') expect(swapped.reason).toBeInstanceOf(PreconditionFailed)
    }
  })

  check('of publishers with the same content all succeed', async () => {
    const store = backend().fresh()
    for (let round = 0; round < backend().raceRounds / 5; round++) {
      const published = await Promise.all(writers.map(() => publish(store, `object-${round}`, 'same content')))
      expect(published.filter(({ wasThere }) => !wasThere).length).toBe(1)
    }
  })

  check('of large write-once streams have one winner', async () => {
    const store = backend().fresh()
    for (let round = 0; round < 4; round++) {
      const key = `round-${round}`
      const contents = writers.slice(0, 4).map((writer) => pattern(partBytes + 1_000, writer + 10))
      const settled = await Promise.allSettled(
        contents.map((content) => store.putStream(key, chunked(content, 1_000_000), { onlyIf: 'absent' })),
      )
      const won = settled.flatMap(({ status }, writer) => (status === 'fulfilled' ? [writer] : []))
      for (const result of settled) {
        if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PreconditionFailed)
      }
      expect(won.length).toBe(1)
      expect(sha256(await bytesOf(store, key))).toBe(sha256(contents[won[0] ?? -1] ?? ''))
    }
  })
}

/** Who of all that write at once is told to have won. Everybody else must have been refused, not failed. */
async function winners(write: (writer: number) => Promise<unknown>): Promise<number[]> {
  const settled = await Promise.allSettled(writers.map(write))
  for (const result of settled) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PreconditionFailed)
  }
  return settled.flatMap(({ status }, writer) => (status === 'fulfilled' ? [writer] : []))
}

async function countTo(store: ObjectStore, target: number): Promise<void> {
  for (let counted = 0; counted < target; ) {
    const { value, info } = await readJsonVersion<{ count: number }>(store, 'counter')
    try {
      await store.put('counter', JSON.stringify({ count: value.count + 1 }), { onlyIf: { etag: info.etag } })
      counted++
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error
    }
  }
}
