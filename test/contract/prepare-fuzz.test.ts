import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type * as Threads from '../../activities/prepare/prepare-threads.ts'
import { accounted, prepared, temporaryFolder } from '../unit/prepare/prepared.ts'

// Only compiled code runs in threads, and only in threads can reading be ended: `npm test` builds it first.
const { startThreads } = (await import(
  new URL('../../dist/activities/prepare/prepare-threads.js', import.meta.url).href
)) as typeof Threads

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url))
const textFiles = [
  'formats/rows.jsonl',
  'formats/rows.json',
  'formats/rows.jsonl.gz',
  'formats/rows.jsonl.zst',
  'datasets/sharegpt-v3.json',
  'datasets/nemotron-v3.jsonl',
  'datasets/smoltalk2.jsonl',
]
const binaryFiles = [
  'formats/rows-none.parquet',
  'formats/rows-snappy.parquet',
  'formats/rows-gzip.parquet',
  'formats/rows-zstd.parquet',
  'formats/rows-pages-v2.parquet',
  'formats/rows-stream.arrow',
  'formats/rows-file.arrow',
]

/** One change to a file: where (as a share of its length), and what. */
const mutation = fc.record({
  kind: fc.constantFrom('flip', 'set', 'delete', 'repeat', 'insert', 'cut', 'swap'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 40 }),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom('"', '\\', '{', '}', '[', ']', ',', '\n', '\0', '\\ud800', 'null', '1e999', '\ufeff')
      .map(Buffer.from),
  ),
})
type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never

function mutated(file: Buffer, { kind, at, length, bytes }: Mutation): Buffer {
  const from = Math.floor(at * file.length)
  const [before, part, after] = [
    file.subarray(0, from),
    file.subarray(from, from + length),
    file.subarray(from + length),
  ]
  switch (kind) {
    case 'flip':
      return Buffer.concat([before, Buffer.from(part.map((byte) => byte ^ (1 << (length % 8)))), after])
    case 'set':
      return Buffer.concat([before, bytes, file.subarray(from + bytes.length)])
    case 'delete':
      return Buffer.concat([before, after])
    case 'repeat':
      return Buffer.concat([before, part, part, after])
    case 'insert':
      return Buffer.concat([before, bytes, part, after])
    case 'cut':
      return before
    case 'swap':
      return Buffer.concat([before, after.subarray(0, length), part, after.subarray(length)])
  }
}

/** How often each kind is tried; `FUZZ_RUNS` and `FUZZ_SEED` try other and more files. */
const scale = Number(process.env.FUZZ_RUNS ?? 1)
const seed = Number(process.env.FUZZ_SEED ?? 1)

describe('mutated files never crash or hang prepare, and every row that was read is accounted for', () => {
  it.each([
    { kind: 'text', files: textFiles, runs: 150 * scale, deps: {} },
    { kind: 'binary', files: binaryFiles, runs: 25 * scale, deps: { threads: 1, startTasks: startThreads } },
  ])('$kind', { timeout: 120_000 * scale }, async ({ files, runs, deps }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(300, 5000, 256 * 1024),
        async (file, mutations, blockBytes) => {
          const folder = temporaryFolder()
          const uri = join(folder, file.split('/')[1]!)
          writeFileSync(uri, mutations.reduce(mutated, readFileSync(join(fixtures, file))))
          writeFileSync(join(folder, 'fine.jsonl'), '{"prompt":"altogether fine"}\n')
          const { plan, prompts, rejects } = await prepared(
            { sources: [{ name: 'fuzzed', uri }, join(folder, 'fine.jsonl')], onBadFile: 'skip' },
            { sizes: { blockBytes, spillBytes: 64 * 1024, pieceMs: 3_000 }, deps },
          )
          for (const account of plan.sources) expect(accounted(account)).toBe(account.read)
          const [fuzzed] = plan.sources
          const listed = Object.values(fuzzed!.rejected).reduce((sum, rows) => sum + rows, 0)
          expect(rejects('fuzzed')).toHaveLength(listed)
          expect(prompts.filter(({ source }) => source === 'fuzzed')).toHaveLength(fuzzed!.prompts)
          expect(fuzzed!.files.length + fuzzed!.skippedFiles.length).toBe(1)
        },
      ),
      { numRuns: runs, seed, endOnFailure: true },
    )
  })
})
