import { expect } from 'vitest'
import { PreconditionFailed } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import { readJsonVersion } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { bytesOf, chunked, pattern, sha256, textOf } from './store-arrange.ts'
import { type Backend, type Case, partBytes } from './store-backend.ts'

const writers = Array.from({ length: 8 }, (_, writer) => writer)
const rounds = 50

export function raceCases(check: Case, backend: () => Backend): void {
  check(`of ${writers.length} write-once writers have one winner, ${rounds} times`, async () => {
    const store = backend().fresh()
    await race(backend().racesAtOnce, async (round) => {
      const key = `round-${round}`
      const won = await winners((writer) => store.put(key, `writer ${writer}`, { onlyIf: 'absent' }))
      expect(won.length).toBe(1)
      expect(await textOf(store, key)).toBe(`writer ${won[0]}`)
    })
  })

  check(`of ${writers.length} swapping writers have one winner, ${rounds} times`, async () => {
    const store = backend().fresh()
    await race(backend().racesAtOnce, async (round) => {
      const key = `round-${round}`
      const { etag } = await store.put(key, 'start')
      const won = await winners((writer) => store.put(key, `writer ${writer}`, { onlyIf: { etag } }))
      expect(won.length).toBe(1)
      expect(await textOf(store, key)).toBe(`writer ${won[0]}`)
    })
  })

  check('of counting writers lose no count', async () => {
    const store = backend().fresh()
    await store.put('counter', '{"count":0,"counted":{}}')
    await Promise.all(writers.map((writer) => countTo(store, writer, 10)))
    const { value } = await readJsonVersion<Counter>(store, 'counter')
    expect(value.count).toBe(writers.length * 10)
  })

  check('of unconditional and swapping writers never undo what was acknowledged last', async () => {
    const store = backend().fresh()
    for (let round = 0; round < 20; round++) {
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
    for (let round = 0; round < 5; round++) {
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

/** Runs all rounds, `atOnce` of them side by side. */
async function race(atOnce: number, run: (round: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < rounds) await run(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

/** Who of all that write at once is told to have won. Everybody else must have been refused, not failed. */
async function winners(write: (writer: number) => Promise<unknown>): Promise<number[]> {
  const settled = await Promise.allSettled(writers.map(write))
  for (const result of settled) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PreconditionFailed)
  }
  return settled.flatMap(({ status }, writer) => (status === 'fulfilled' ? [writer] : []))
}

interface Counter {
  count: number
  /** How far each writer got, by which it recognises a count of its own whose reply was lost. */
  counted: Record<string, number>
}

async function countTo(store: ObjectStore, writer: number, target: number): Promise<void> {
  for (;;) {
    const { value, info } = await readJsonVersion<Counter>(store, 'counter')
    const counted = value.counted[writer] ?? 0
    if (counted === target) return
    const next = { count: value.count + 1, counted: { ...value.counted, [writer]: counted + 1 } }
    try {
      await store.put('counter', JSON.stringify(next), { onlyIf: { etag: info.etag } })
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error
    }
  }
}
