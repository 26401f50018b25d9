import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DropMap } from '../../../activities/merge/shuffle/drop-map.ts'
import { givingWay } from '../../../activities/merge/shuffle/find-duplicates.ts'
import { plainType, typeName, unify } from '../../../domain/columns.ts'
import { MergeAccounts, unbalanced } from '../../../domain/merge-accounts.ts'
import { drawRows } from '../../../domain/merge-draw.ts'
import { bandsFor, similarity, sketchOf } from '../../../domain/min-hash.ts'
import { outputOf, outputProblem } from '../../../domain/output.ts'
import { splitOfFile } from '../../../domain/splits.ts'
import { columnsOf, mergeSketch, newSketch, observe } from '../../../domain/type-sketch.ts'
import { range } from './arrange.ts'

describe('deciding which row gives way', () => {
  const rules = { firstNew: 3, heldOut: new Set([2]) }
  it.each([
    ['keepOld', [0, 3, 4], [1, 2]],
    ['keepOld', [3, 4, 4], [1, 2]],
    ['keepOld', [0, 1], []],
    ['keepNew', [0, 1, 3, 4], [0, 1, 3]],
    ['keepNew', [0, 1], []],
    ['keepBoth', [0, 3, 4], []],
    ['keepNew', [0, 2, 3], [2]],
    ['keepBoth', [2, 3, 4], [1, 2]],
  ] as const)('under %s of files %j the rows %j do', (policy, files, expected) => {
    expect(givingWay([...files], { ...rules, policy })).toEqual(expected)
  })
})

describe('drawing rows', () => {
  it('keeps no source above its cap, and keeps the share exactly', () => {
    const side = fc.nat(500)
    fc.assert(
      fc.property(
        fc.array(fc.record({ old: side, new: side }), { minLength: 1 }),
        side,
        fc.double({ min: 0.05, max: 0.95, noNaN: true }),
        (rows, cap, newShare) => {
          const names = rows.map((_, n) => `s${n}`)
          const { kept, overCap, overShare } = drawRows(names, rows, { caps: { '*': cap }, newShare })
          kept.forEach((sides, n) => {
            expect(sides.old + sides.new).toBeLessThanOrEqual(cap)
            for (const key of ['old', 'new'] as const) {
              expect(sides[key] + overCap[n]![key] + overShare[n]![key]).toBe(rows[n]![key])
              expect(Math.min(sides[key], overCap[n]![key], overShare[n]![key])).toBeGreaterThanOrEqual(0)
            }
          })
          const total = (key: 'old' | 'new') => kept.reduce((sum, sides) => sum + sides[key], 0)
          const capped = (key: 'old' | 'new') => rows.reduce((sum, sides, n) => sum + sides[key] - overCap[n]![key], 0)
          if (capped('old') === 0 || capped('new') === 0) return
          const wanted = (total('old') + total('new')) * newShare
          expect(Math.abs(total('new') - wanted)).toBeLessThanOrEqual(1)
        },
      ),
    )
  })
})

describe('accounts', () => {
  it('notice a row that was lost or made up, by source', () => {
    const books = new MergeAccounts()
    const [a, b] = [books.numberOf('a'), books.numberOf('b')]
    books.addRead('old', a, 10)
    books.addRead('new', b, 5)
    books.addDropped('new', b, 'empty', 1)
    books.addDuplicate('new', b)
    books.addMerged(a, 11)
    books.addMerged(b, 2)
    expect(unbalanced(books.close())?.what).toBe('source a')
  })

  it('give sources that come after thousands of others one name', () => {
    const books = new MergeAccounts()
    const numbers = range(0, 6_000).map((n) => books.numberOf(`source ${n}`))
    expect(books.names.length).toBeLessThan(5_100)
    expect(numbers[5_999]).toBe(numbers[5_998])
    expect(books.numberOf('source 3')).toBe(3)
  })
})

describe('the map of dropped rows', () => {
  it('remembers rows of any file, and says whether one is new', () => {
    const map = new DropMap(3)
    expect([map.add(2, 100_000), map.add(2, 100_000), map.add(0, 0)]).toEqual([true, false, true])
    expect([map.has(2, 100_000), map.has(2, 99_999), map.has(1, 5), map.has(0, 0)]).toEqual([true, false, false, true])
  })
})

describe('types of columns', () => {
  it('come out the same in whatever order and pieces rows are seen', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.jsonValue({ maxDepth: 3 }).map((value) => ({ value })),
          { maxLength: 8 },
        ),
        fc.nat(8),
        (rows, cut) => {
          const whole = newSketch()
          for (const row of rows) observe(whole, row)
          const [first, second] = [newSketch(), newSketch()]
          for (const [n, row] of rows.entries()) observe(n < cut ? first : second, row)
          mergeSketch(first, second)
          expect(columnsOf(first)).toEqual(columnsOf(whole))
        },
      ),
    )
  })

  it('go together where one holds the values of both, and are JSON where none does', () => {
    const int = { kind: 'int', bits: 64 } as const
    const text = { kind: 'string' } as const
    expect(unify({ kind: 'null' }, int)).toEqual(int)
    expect(unify(int, { kind: 'float', bits: 32 })).toEqual({ kind: 'float', bits: 32 })
    expect(unify(int, text)).toEqual({ kind: 'json' })
    const list = unify(
      { kind: 'list', item: { kind: 'struct', fields: [{ name: 'a', type: int }] } },
      { kind: 'list', item: { kind: 'struct', fields: [{ name: 'b', type: text }] } },
    )
    expect(typeName(list)).toBe('list<struct<a: int64, b: string>>')
    expect(typeName(plainType({ kind: 'timestamp', unit: 'us' }))).toBe('string')
  })
})

describe('similarity of texts', () => {
  const words = (seed: number, count: number) => range(0, count).map((n) => `w${(seed * 1_000 + n) * 7919}`)

  it('is near the share that they have in common', () => {
    for (const shared of [20, 50, 80, 100]) {
      const common = words(1, shared)
      const a = sketchOf([...common, ...words(2, 100 - shared)].join(' '))
      const b = sketchOf([...common, ...words(3, 100 - shared)].join(' '))
      expect(Math.abs(similarity(a, b) - shared / (200 - shared))).toBeLessThan(0.15)
    }
  })

  it('does not depend on case and white space', () => {
    expect(similarity(sketchOf('What is  this?\n'), sketchOf('what IS this?'))).toBe(1)
  })

  it('is looked at for nearly every pair that is similar enough', () => {
    for (const threshold of [0.5, 0.7, 0.8, 0.9, 0.95, 1]) {
      const { count, length } = bandsFor(threshold)
      expect(1 - (1 - threshold ** length) ** count).toBeGreaterThanOrEqual(0.99)
      expect(count * length).toBeLessThanOrEqual(128)
    }
  })
})

describe('splits', () => {
  it.each([
    ['data/train-00000-of-00001.parquet', 'train'],
    ['test.jsonl', 'test'],
    ['validation/data-00000.arrow', 'validation'],
    ['dev_set.jsonl.gz', 'validation'],
    ['latest/part-00000.jsonl', 'train'],
    ['contest-questions.jsonl', 'train'],
    ['test/train-00000.parquet', 'train'],
    ['en.eval.jsonl', 'test'],
  ])('%s is %s', (key, split) => {
    expect(splitOfFile(key)).toBe(split)
  })
})

describe('the output', () => {
  it('is as before unless the spec says otherwise, and as is usual where the format changes', () => {
    const same = { format: 'same', compression: 'same' } as const
    expect(outputOf(same, undefined)).toEqual({ format: 'jsonl', compression: 'gzip' })
    expect(outputOf(same, { format: 'jsonl', compression: 'zstd' })).toEqual({ format: 'jsonl', compression: 'zstd' })
    const parquet = { ...same, format: 'parquet' } as const
    expect(outputOf(parquet, { format: 'jsonl', compression: 'zstd' })).toEqual({
      format: 'parquet',
      compression: 'snappy',
    })
    expect(outputProblem({ format: 'jsonl', compression: 'snappy' })).toContain('none or gzip or zstd')
  })
})
