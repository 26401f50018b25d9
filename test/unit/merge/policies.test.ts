import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Message } from '../../../domain/prompt.ts'
import type { Sample } from '../../../domain/sample.ts'
import { skeletonText } from '../../../domain/skeleton.ts'
import { id128 } from '../../../shuffle/digest.ts'
import { oldRow, question, range, Scene, sampleOf, sha256 } from './arrange.ts'
import { merge } from './perform.ts'

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

const oldRows = (from: number, to: number) => range(from, to).map(oldRow).join('')
const samples = (from: number, to: number, differences: Partial<Sample> = {}) =>
  range(from, to).map((n) => sampleOf(n, differences))
const answer = (row: Record<string, unknown>) => (row.messages as Message[])[1]!.content
const asked = (row: Record<string, unknown>) => (row.messages as Message[])[0]!.content
const isNew = (row: Record<string, unknown>) => answer(row).startsWith('new')

describe('duplicates', () => {
  it('keeps what the dataset has twice: it was meant', async () => {
    scene.write('data/train.jsonl', oldRows(0, 10) + oldRows(0, 10))
    scene.run('r', samples(5, 15))
    await merge(scene, 'r')
    expect(scene.rows()).toHaveLength(25)
    expect(scene.manifest().counts).toMatchObject({ duplicates: 5, gaveWay: { old: 0, new: 5 } })
  })

  it('does not put rows with the same conversation side by side', async () => {
    scene.write('data/train.jsonl', oldRows(0, 200))
    scene.run('r', samples(0, 200))
    await merge(scene, 'r', { duplicates: 'keepBoth' })
    const order = scene.rows().map(asked)
    const neighbours = order.filter((text, n) => text === order[n + 1])
    expect(order).toHaveLength(400)
    expect(neighbours.length).toBeLessThan(10)
  })

  it('replaces every old row of a conversation under keepNew', async () => {
    scene.write('data/train.jsonl', oldRows(0, 10) + oldRows(0, 10))
    scene.run('r', samples(5, 15))
    await merge(scene, 'r', { duplicates: 'keepNew' })
    expect(scene.rows().filter(isNew)).toHaveLength(10)
    expect(scene.rows()).toHaveLength(20)
    expect(scene.manifest().counts).toMatchObject({ gaveWay: { old: 10, new: 0 } })
  })

  it('finds them across schemas, and whatever the source is called', async () => {
    const asShareGpt = (n: number) =>
      `${JSON.stringify({
        conversations: [
          { from: 'human', value: question(n).content },
          { from: 'gpt', value: 'x' },
        ],
      })}\n`
    scene.write('data/train.jsonl', range(0, 10).map(asShareGpt).join(''))
    scene.run('r', samples(5, 15))
    await merge(scene, 'r')
    expect(scene.manifest().counts).toMatchObject({ old: 10, new: 10, duplicates: 5, merged: 15 })
  })

  it('drops a new row whose conversation is in a test split, under every policy', async () => {
    for (const duplicates of ['keepOld', 'keepNew', 'keepBoth']) {
      scene.remove()
      scene = new Scene()
      scene.write('data/train-00000.jsonl', oldRows(0, 10))
      scene.write('data/test-00000.jsonl', oldRows(20, 30))
      scene.run('r', samples(25, 40))
      await merge(scene, 'r', { duplicates })
      const { files, counts } = scene.manifest()
      expect(files.map(({ split, rows }) => [split, rows])).toEqual([
        ['train', 20],
        ['test', 10],
      ])
      expect(counts).toMatchObject({ duplicates: 5, gaveWay: { old: 0, new: 5 } })
    }
  })
})

describe('near duplicates', () => {
  /** Forty words of its own for each number, and perhaps one more. */
  const long = (n: number, change = '') =>
    `${range(0, 40)
      .map((word) => sha256(`${n} ${word}`).slice(0, 7))
      .join(' ')}${change}`
  const ask = (content: string, differences: Partial<Sample> = {}): Sample => {
    const turns: Message[] = [{ role: 'user', content }]
    const id = id128(skeletonText(turns))
    return sampleOf(0, {
      promptId: id,
      messages: [...turns, { role: 'assistant', content: 'new answer' }],
      ...differences,
    })
  }
  const rowOf = (content: string) =>
    `${JSON.stringify({
      messages: [
        { role: 'user', content },
        { role: 'assistant', content: 'old answer' },
      ],
    })}\n`

  it('are left in unless they are asked for', async () => {
    scene.write('data/train.jsonl', rowOf(long(1)))
    scene.run('r', [ask(long(1, ' here'))])
    await merge(scene, 'r')
    expect(scene.rows()).toHaveLength(2)
  })

  it('give way like exact ones: new to old, new to earlier new, and never old to old', async () => {
    scene.write(
      'data/train.jsonl',
      range(0, 40)
        .map((n) => rowOf(long(n)))
        .join('') + rowOf(long(3, ' too')),
    )
    scene.run('r', [
      ...range(30, 50).map((n) => ask(long(n, ' here'))),
      ask(long(45, ' there')),
      ask('Something else altogether.'),
    ])
    await merge(scene, 'r', { near: 0.8 })
    expect(scene.manifest().counts).toMatchObject({ old: 41, new: 22, duplicates: 11, merged: 52 })
  })

  it('give way to new ones under keepNew', async () => {
    scene.write(
      'data/train.jsonl',
      range(0, 40)
        .map((n) => rowOf(long(n)))
        .join(''),
    )
    scene.run(
      'r',
      range(30, 50).map((n) => ask(long(n, ' here'))),
    )
    await merge(scene, 'r', { near: 0.8, duplicates: 'keepNew' })
    expect(scene.manifest().counts).toMatchObject({ gaveWay: { old: 10, new: 0 }, merged: 50 })
  })

  it('are none when only the system prompt is the same', async () => {
    const system = { role: 'system', content: long(1).repeat(20) } as const
    const withSystem = (n: number) => {
      const turns: Message[] = [system, { role: 'user', content: long(n).slice(0, 60) }]
      return sampleOf(0, {
        promptId: id128(skeletonText(turns)),
        messages: [...turns, { role: 'assistant', content: 'new answer' }],
      })
    }
    scene.run('r', range(1, 20).map(withSystem))
    await merge(scene, 'r', { near: 0.8 })
    expect(scene.rows()).toHaveLength(19)
  })

  it('are found whatever memory there is', async () => {
    scene.write(
      'data/train.jsonl',
      range(0, 40)
        .map((n) => rowOf(long(n)))
        .join(''),
    )
    scene.run(
      'r',
      range(30, 50).map((n) => ask(long(n, ' here'))),
    )
    const sizes = { blockBytes: 2000, maxRowBytes: 100_000, spillBytes: 5000, rangeRows: 20 }
    await merge(scene, 'r', { near: 0.8 }, { sizes })
    expect(scene.manifest().counts).toMatchObject({ duplicates: 10 })
  })
})

describe('what goes in', () => {
  it('leaves out truncated, empty, looping and too short answers as the spec says, and counts each', async () => {
    const says =
      (content: string, differences: Partial<Sample> = {}) =>
      (n: number) =>
        sampleOf(n, { messages: [question(n), { role: 'assistant', content }], ...differences })
    scene.run('r', [
      ...range(0, 10).map(says('a good answer')),
      ...range(10, 13).map(says('cut', { truncated: true })),
      ...range(20, 24).map(says('  \n ')),
      ...range(30, 35).map(says('again and again '.repeat(300))),
      ...range(40, 46).map(says('short')),
    ])
    await merge(scene, 'r', { truncated: 'out', quality: { minChars: 10 } })
    expect(scene.manifest().counts).toMatchObject({
      ...{ new: 28, dropped: 18, merged: 10 },
      reasons: { truncated: 3, empty: 4, looping: 5, tooShort: 6 },
    })
  })

  it('takes them all when the spec wants them', async () => {
    scene.run('r', [sampleOf(1, { messages: [question(1), { role: 'assistant', content: '' }], truncated: true })])
    await merge(scene, 'r', { truncated: 'in', quality: { empty: 'in', looping: 'in' } })
    expect(scene.rows()).toHaveLength(1)
  })

  it('caps sources, old and new rows alike, and gives the rest a common cap', async () => {
    const from = (source: string) => (n: number) =>
      `${JSON.stringify({ messages: [question(n), { role: 'assistant', content: 'old' }], source })}\n`
    scene.write('data/train.jsonl', [...range(0, 80).map(from('a')), ...range(100, 150).map(from('b'))].join(''))
    scene.run('r', [...range(200, 220).map((n) => sampleOf(n, { source: 'a' })), ...samples(300, 310)])
    await merge(scene, 'r', { caps: { a: 50, '*': 8 } })
    const { sources, reasons } = scene.manifest().counts!
    expect(sources).toMatchObject({ a: { merged: 50 }, b: { merged: 8 }, fresh: { merged: 8 } })
    expect(reasons).toEqual({ cap: 50 + 42 + 2 })
    expect(scene.rows().filter((row) => row.source === 'a' && isNew(row))).toHaveLength(10)
  })

  it('mixes to an exact share of new rows by giving up what is too much', async () => {
    scene.write('data/train.jsonl', oldRows(0, 100))
    scene.run('r', samples(200, 300))
    await merge(scene, 'r', { newShare: 0.2 })
    expect(scene.rows()).toHaveLength(125)
    expect(scene.rows().filter(isNew)).toHaveLength(25)
    expect(scene.manifest().counts).toMatchObject({ dropped: 75, reasons: { share: 75 } })
  })

  it('gives up old rows where there are too few new ones', async () => {
    scene.write('data/train.jsonl', oldRows(0, 100))
    scene.run('r', samples(200, 220))
    await merge(scene, 'r', { newShare: 0.5 })
    expect(scene.rows().filter(isNew)).toHaveLength(20)
    expect(scene.rows()).toHaveLength(40)
  })

  it('draws nothing from rows that models are tested with', async () => {
    scene.write('data/train.jsonl', oldRows(0, 100))
    scene.write('data/test.jsonl', oldRows(100, 150))
    scene.run('r', samples(200, 210))
    await merge(scene, 'r', { newShare: 0.5, caps: { '*': 60 } })
    const rowsOf = (split: string) =>
      scene
        .manifest()
        .files.filter((file) => file.split === split)
        .reduce((sum, { rows }) => sum + rows, 0)
    expect([rowsOf('train'), rowsOf('test')]).toEqual([20, 50])
  })
})

describe('the holdout', () => {
  it('sets conversations aside for good: they stay there from version to version', async () => {
    scene.write('data/train.jsonl', oldRows(0, 200))
    scene.run('a', samples(300, 500))
    scene.run('b', samples(600, 800))
    const holdout = { share: 0.1 }
    await merge(scene, 'a', { holdout })
    const heldOut = () => new Set(scene.rows(undefined, 'validation').map(asked))
    const first = heldOut()
    expect(first.size).toBeGreaterThan(20)
    expect(first.size).toBeLessThan(60)
    await merge(scene, 'b', { holdout })
    const second = heldOut()
    expect([...first].every((text) => second.has(text))).toBe(true)
    expect(scene.rows()).toHaveLength(600)
    expect(scene.manifest().files.map(({ key }) => key.slice(6))).toEqual([
      'part-00000.jsonl',
      'validation-00000.jsonl',
    ])
  })
})

describe('the order', () => {
  it('appends new rows behind the old ones when the spec says so, both in their order', async () => {
    scene.write('data/a.jsonl', oldRows(0, 30))
    scene.write('data/b.jsonl', oldRows(30, 60))
    scene.run('r', samples(50, 120))
    const sizes = { blockBytes: 1000, maxRowBytes: 100_000, spillBytes: 3000, rangeRows: 20 }
    await merge(scene, 'r', { order: 'append' }, { sizes })
    const expected = [...range(0, 60), ...range(60, 120)].map((n) => question(n).content)
    expect(scene.rows().map(asked)).toEqual(expected)
  })

  it('is another one with another seed', async () => {
    const orders: string[][] = []
    for (const seed of ['one', 'two']) {
      scene.remove()
      scene = new Scene()
      scene.run('r', samples(0, 100))
      await merge(scene, 'r', { seed })
      orders.push(scene.rows().map(asked))
    }
    expect(orders[0]).not.toEqual(orders[1])
    expect([...orders[0]!].sort()).toEqual([...orders[1]!].sort())
  })
})

describe('provenance', () => {
  it('is in every row: file and row of old ones, run and source of new ones', async () => {
    scene.write('data/train.jsonl', oldRows(0, 3))
    scene.run('r', [
      sampleOf(7, { provenance: { file: 'q.jsonl', row: 7, id: 'q7', license: 'mit', origin: 'gsm8k' } }),
    ])
    await merge(scene, 'r')
    const nothing = {
      id: null,
      license: null,
      origin: null,
      model: null,
      weightVersion: null,
      truncated: null,
      tokens: null,
    }
    const [old] = scene.rows().filter((row) => asked(row) === 'question 1')
    expect(old?.promptId).toBe(sampleOf(1).promptId)
    expect(old?.provenance).toEqual({ ...nothing, run: null, version: 1, file: 'train.jsonl', row: 2, source: 'base' })
    const [fresh] = scene.rows().filter(isNew)
    expect(fresh?.provenance).toEqual({
      ...{
        run: 'r',
        version: null,
        file: 'q.jsonl',
        row: 7,
        source: 'fresh',
        id: 'q7',
        license: 'mit',
        origin: 'gsm8k',
      },
      ...{ model: 'model', weightVersion: 'w1', truncated: false, tokens: 12 },
    })
    expect(scene.manifest().tokens).toEqual({ rows: 1, tokens: 12 })
  })

  it('survives further merges, and so do token counts', async () => {
    scene.write('data/train.jsonl', oldRows(0, 3))
    scene.run('a', samples(10, 15))
    scene.run('b', samples(14, 20))
    await merge(scene, 'a')
    const before = new Map(scene.rows().map((row) => [row.promptId, row]))
    await merge(scene, 'b')
    const after = new Map(scene.rows().map((row) => [row.promptId, row]))
    for (const [id, row] of before) expect(after.get(id)).toEqual(row)
    expect(scene.manifest()).toMatchObject({ rows: 13, tokens: { rows: 10, tokens: 120 } })
  })

  it('can be left out: then old rows stay byte for byte', async () => {
    scene.write('data/train.jsonl', oldRows(0, 30))
    scene.run('r', samples(50, 60))
    await merge(scene, 'r', { provenance: 'none' })
    const lines = new Set(scene.lines())
    for (const line of oldRows(0, 30).trim().split('\n')) expect(lines.has(line)).toBe(true)
  })

  it('does not touch a column of that name that is somebody else’s', async () => {
    const row = { messages: [question(1), { role: 'assistant', content: 'x' }], provenance: 'mine' }
    scene.write('data/train.jsonl', `${JSON.stringify(row)}\n`)
    scene.run('r', samples(50, 51))
    await merge(scene, 'r')
    expect(scene.manifest().hasProvenance).toBe(false)
    expect(
      scene
        .rows()
        .map((merged) => merged.provenance)
        .sort(),
    ).toEqual(['mine', null])
  })
})
