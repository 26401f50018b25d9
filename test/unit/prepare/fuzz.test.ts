import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accounted, prepared, temporaryFolder } from './prepared.ts'

const fixtures = fileURLToPath(new URL('../../fixtures/', import.meta.url))
const bases = [
  'formats/rows.jsonl',
  'formats/rows.json',
  'formats/rows.jsonl.gz',
  'formats/rows.jsonl.zst',
  'formats/rows-none.parquet',
  'formats/rows-snappy.parquet',
  'formats/rows-gzip.parquet',
  'formats/rows-zstd.parquet',
  'formats/rows-pages-v2.parquet',
  'formats/rows-stream.arrow',
  'formats/rows-file.arrow',
  'datasets/sharegpt-v3.json',
  'datasets/nemotron-v3.jsonl',
  'datasets/smoltalk2.jsonl',
].map((name) => ({ name: name.split('/')[1]!, bytes: readFileSync(join(fixtures, name)) }))

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

const runs = Number(process.env.FUZZ_RUNS ?? 150)

describe('mutated files', () => {
  it('never crash or hang prepare, and every row that was read is accounted for', {
    timeout: 60_000 + runs * 1000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...bases),
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(300, 5000, 256 * 1024),
        async (base, mutations, blockBytes) => {
          const folder = temporaryFolder()
          const uri = join(folder, base.name)
          writeFileSync(uri, mutations.reduce(mutated, base.bytes))
          writeFileSync(join(folder, 'fine.jsonl'), '{"prompt":"altogether fine"}\n')
          const { plan, prompts, rejects } = await prepared(
            { sources: [{ name: 'fuzzed', uri }, join(folder, 'fine.jsonl')], onBadFile: 'skip' },
            { sizes: { blockBytes, spillBytes: 64 * 1024 } },
          )
          for (const account of plan.sources) expect(accounted(account)).toBe(account.read)
          const [fuzzed] = plan.sources
          const listed = Object.values(fuzzed!.rejected).reduce((sum, rows) => sum + rows, 0)
          expect(rejects('fuzzed')).toHaveLength(listed)
          expect(prompts.filter(({ source }) => source === 'fuzzed')).toHaveLength(fuzzed!.prompts)
          expect(fuzzed!.files.length + fuzzed!.skippedFiles.length).toBe(1)
        },
      ),
      { numRuns: runs, seed: Number(process.env.FUZZ_SEED ?? 1), endOnFailure: true },
    )
  })
})
