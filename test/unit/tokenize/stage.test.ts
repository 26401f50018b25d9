import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runPython } from '../../harness/python.ts'
import { Scene } from '../merge/arrange.ts'
import { qwen, sampleByQwen, samplesByQwen, stage, tokenManifest, user } from './arrange.ts'

interface Loaded {
  columns: string[]
  types: string[]
  memoryMapped: boolean
  rows: {
    promptId: string
    source: string
    length: number
    ids: number[]
    mask: number[]
    text: string
    learnt: string[]
  }[]
}

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

const load = (folder = 'tokens/current') =>
  runPython<Loaded>('load.py', scene.path(folder), join(qwen, 'tokenizer.json'))

describe('tokenizing a run', () => {
  it('makes a dataset that Python loads, with masks only on what the engine wrote', async () => {
    const samples = [
      ...(await samplesByQwen(0, 20)),
      await sampleByQwen({ n: 20, isCut: true, source: 'cut' }),
      await sampleByQwen({
        n: 21,
        turns: [
          { asked: [{ role: 'system', content: 'Be brief.' }, user('first')], answer: 'one' },
          { asked: [user('second <|im_end|> typed')], answer: 'two' },
        ],
      }),
    ]
    scene.run('r', samples)
    await stage(scene).run({ run: 'r' })
    const { columns, types, memoryMapped, rows } = await load()
    expect(columns).toEqual(['input_ids', 'loss_mask', 'length', 'promptId', 'source'])
    expect(types).toEqual(['list<item: int32>', 'list<item: int8>', 'int32', 'string', 'string'])
    expect(memoryMapped).toBe(true)
    expect(rows).toHaveLength(22)
    for (const sample of samples) {
      const [row, ...others] = rows.filter(({ promptId }) => promptId === sample.promptId)
      expect(others).toEqual([])
      const last = sample.turns.at(-1)!
      expect(row!.ids).toEqual([...last.promptIds!, ...last.outputIds!])
      expect(row!.length).toBe(row!.ids.length)
      expect(row!.source).toBe(sample.source)
      expect(row!.learnt).toEqual(
        sample.turns.map(({ text, finishReason }) => text + (finishReason === 'stop' ? '<|im_end|>' : '')),
      )
    }
  })

  it('gives rows that have only text the ids that those with ids have', async () => {
    scene.run('ids', await samplesByQwen(0, 5))
    scene.run('text', await samplesByQwen(0, 5, { isTextOnly: true }))
    await stage(scene).run({ run: 'ids' })
    const withIds = (await load()).rows
    await stage(scene).run({ run: 'text' }, { uri: `file://${scene.path('others')}`, templateKwargs: {} })
    const fromText = (await load('others/current')).rows
    const learnt = (rows: Loaded['rows']) => rows.map(({ promptId, learnt }) => [promptId, learnt]).sort()
    expect(learnt(fromText)).toEqual(learnt(withIds))
  })
})

describe('merging with what is there', () => {
  it('keeps the rows of the version before, tokenizes none of them again, and adds up', async () => {
    scene.run('a', await samplesByQwen(0, 30))
    scene.run('b', await samplesByQwen(20, 50, { source: 'more' }))
    await stage(scene).run({ run: 'a' })
    await stage(scene).run({ run: 'b' })
    const { tokenized, rows, tokens, runs, files } = tokenManifest(scene)
    const { counts } = tokenized
    expect(counts).toMatchObject({
      old: { rows: 30 },
      new: { rows: 30 },
      duplicates: { rows: 10 },
      merged: { rows: 50 },
    })
    expect(counts.old.tokens + counts.new.tokens).toBe(counts.duplicates.tokens + counts.merged.tokens)
    expect([rows, tokens]).toEqual([50, counts.merged])
    expect(tokenized.sources).toMatchObject({ fresh: { rows: 30 }, more: { rows: 20 } })
    expect(runs.map(({ run, version }) => [run, version])).toEqual([
      ['a', 1],
      ['b', 2],
    ])
    expect(files[0]!.rows).toBe(50)
    const loaded = await load()
    expect(loaded.rows.reduce((sum, row) => sum + row.length, 0)).toBe(counts.merged.tokens)
    expect(new Set(loaded.rows.map(({ promptId }) => promptId)).size).toBe(50)
  })
})
