import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type * as Threads from '../../activities/prepare/prepare-threads.ts'
import { prepared, temporaryFolder } from '../unit/prepare/prepared.ts'

// Only compiled code runs in threads: `npm test` builds it first.
const { startThreads } = (await import(
  new URL('../../dist/activities/prepare/prepare-threads.js', import.meta.url).href
)) as typeof Threads

function source(name: string, rows: number, distinct: number): string {
  const path = join(temporaryFolder(), `${name}.jsonl`)
  const lines = Array.from({ length: rows }, (_, n) =>
    n % 97 === 0 ? '{"torn' : JSON.stringify({ id: n, prompt: `prompt ${n % distinct} ${'text '.repeat(n % 40)}` }),
  )
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

describe('threads', () => {
  it('1, 2 or 5 of them give the same plan and prompts, byte for byte, as none', async () => {
    const spec = {
      sources: [
        { uri: source('a', 1500, 1100), share: 0.5 },
        { uri: source('b', 1200, 1000), limit: 300 },
        source('c', 200, 200),
      ],
      nearDuplicates: { similarity: 0.9 },
    }
    const sizes = { blockBytes: 20_000, spillBytes: 30_000, sliceBytes: 25_000, rangeRows: 500 }
    const alone = await prepared(spec, { sizes })
    for (const threads of [1, 2, 5]) {
      const together = await prepared(spec, { sizes, deps: { threads, startTasks: startThreads } })
      expect(together.files()).toEqual(alone.files())
    }
    expect(alone.plan.prompts).toBeGreaterThan(400)
  })

  it('stop at once when the run is cancelled', async () => {
    const abort = new AbortController()
    const stopped = prepared(
      { sources: [source('a', 20_000, 20_000)] },
      {
        sizes: { blockBytes: 20_000, spillBytes: 30_000 },
        signal: abort.signal,
        deps: { threads: 2, startTasks: startThreads },
        onProgress: ({ rowsRead }) => {
          if (rowsRead > 1000) abort.abort(new Error('cancelled'))
        },
      },
    )
    await expect(stopped).rejects.toThrow()
  })
})
