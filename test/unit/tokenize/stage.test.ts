import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runPython } from '../../harness/python.ts'
import { oldRow, Scene } from '../merge/arrange.ts'
import { damageUnits, logged, qwen, sampleByQwen, samplesByQwen, stage, tokenManifest, user } from './arrange.ts'

interface Row {
  promptId: string
  source: string
  length: number
  ids: number[]
  mask: number[]
  text: string
  learnt: string[]
}

interface Loaded {
  columns: string[]
  types: string[]
  memoryMapped: boolean
  rows: Row[]
}

let scene: Scene
beforeEach(() => {
  scene = new Scene()
  logged.length = 0
})
afterEach(() => scene.remove())

const load = (folder = 'tokens/current') =>
  runPython<Loaded>('load.py', scene.path(folder), join(qwen, 'tokenizer.json'))

const units = () => readdirSync(scene.path('tokens/_work/units'))

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
      const endOf = (reason: string) => (reason === 'stop' ? '<|im_end|>' : '')
      expect(row!.learnt).toEqual(sample.turns.map(({ text, finishReason }) => text + endOf(finishReason)))
    }
  })

  it('gives rows that have only text the same answers to learn', async () => {
    scene.run('ids', await samplesByQwen(0, 5))
    scene.run('text', await samplesByQwen(0, 5, { isTextOnly: true }))
    await stage(scene).run({ run: 'ids' })
    const withIds = (await load()).rows
    await stage(scene).run({ run: 'text' }, { uri: `file://${scene.path('others')}` })
    const fromText = (await load('others/current')).rows
    const learnt = (rows: Row[]) => rows.map((row) => [row.promptId, row.learnt]).sort()
    expect(learnt(fromText)).toEqual(learnt(withIds))
  })

  it('takes a mask of bits, and writes the same rows as JSON lines and Parquet', async () => {
    scene.run('r', await samplesByQwen(0, 40))
    await stage(scene).run({ run: 'r' }, { mask: 'bool', alsoAs: ['jsonl', 'parquet'], fileBytes: 1200 })
    const { types, rows } = await load()
    expect(types[1]).toBe('list<item: bool>')
    const { files, extras, bytes, tokens } = tokenManifest(scene)
    expect(files.length).toBeGreaterThan(2)
    expect(files.map(({ key }) => key)).toContain(`v0001/data-00000-of-${String(files.length).padStart(5, '0')}.arrow`)
    expect(extras.filter(({ key }) => /\/(jsonl|parquet)\//.test(key))).toHaveLength(2 * files.length)
    expect(bytes).toBeGreaterThan(tokens.tokens)
    for (const format of ['jsonl', 'parquet']) {
      const others = await runPython<Row[]>('load-files.py', scene.path(`tokens/v0001/${format}`), format)
      expect(others).toEqual(rows.map(({ promptId, ids, mask }) => ({ promptId, ids, mask })))
    }
  })

  it('lists the rows that it left out', async () => {
    const samples = await samplesByQwen(0, 100)
    samples[7]!.turns[0]!.outputIds = [1]
    scene.run('r', samples)
    await stage(scene).run({ run: 'r' })
    const { tokenized, rows } = tokenManifest(scene)
    expect(rows).toBe(99)
    expect(tokenized.made.fresh).toMatchObject({ read: 100, rows: 99, leftOut: { too_few_supervised: 1 } })
    const line = JSON.parse(scene.read(`tokens/${tokenized.leftOut}`))
    expect(line).toMatchObject({
      promptId: samples[7]!.promptId,
      reason: 'too_few_supervised',
      row: 8,
      source: 'fresh',
    })
  })
})

describe('tokenizing the version of a dataset', () => {
  it('renders its rows with the chat template, except for those that are set aside', async () => {
    scene.write('data/train.jsonl', Array.from({ length: 10 }, (_, n) => oldRow(n)).join(''))
    scene.write('data/test.jsonl', oldRow(99))
    const { adopt } = await import('../../../activities/merge/adopt/adopt.ts')
    const { createOpenStore } = await import('../../../store/open-store.ts')
    const from = createOpenStore()(scene.dataset)
    await adopt(from, { from, spool: join(scene.scratch, 'spool'), now: Date.now })
    await stage(scene).run({ dataset: scene.dataset })
    const { rows } = await load()
    expect(rows.map(({ learnt }) => learnt[0]).sort()).toEqual(
      Array.from({ length: 10 }, (_, n) => `old answer ${n}<|im_end|>`),
    )
    expect(rows[0]!.source).toBe('base')
    expect(tokenManifest(scene).tokenized.inputs).toMatchObject([{ kind: 'rows', version: 1 }])
  })
})

describe('merging with what is there', () => {
  it('keeps the rows of the version before, tokenizes none of them again, and adds up', async () => {
    scene.run('a', await samplesByQwen(0, 30))
    scene.run('b', await samplesByQwen(20, 50, { source: 'more' }))
    await stage(scene).run({ run: 'a' })
    await stage(scene).run({ run: 'b' })
    const { tokenized, rows, tokens, runs } = tokenManifest(scene)
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
    const loaded = await load()
    expect(loaded.rows.reduce((sum, row) => sum + row.length, 0)).toBe(counts.merged.tokens)
    expect(new Set(loaded.rows.map(({ promptId }) => promptId)).size).toBe(50)
    // In no order that the inputs had.
    const sources = loaded.rows.map(({ source }) => source).join()
    expect(sources).not.toBe(
      loaded.rows
        .map(({ source }) => source)
        .sort()
        .join(),
    )
  })

  it('does nothing for a run that is in already', async () => {
    scene.run('a', await samplesByQwen(0, 3))
    await stage(scene).run({ run: 'a' })
    expect(await stage(scene).run({ run: 'a' })).toMatchObject({ planned: { madeBefore: 1 } })
  })

  it('replaces what is there when it is told to', async () => {
    scene.run('a', await samplesByQwen(0, 5))
    scene.run('b', await samplesByQwen(5, 7))
    await stage(scene).run({ run: 'a' })
    await stage(scene).run({ run: 'b' }, { existing: 'replace' })
    expect(tokenManifest(scene)).toMatchObject({ version: 2, rows: 2, runs: [{ run: 'b' }] })
  })

  it.each(['arrow', 'parquet', 'labels'] as const)('adopts what other tools left: %s', async (kind) => {
    const [fresh] = await samplesByQwen(0, 1)
    const ids = [...fresh!.turns[0]!.promptIds!, ...fresh!.turns[0]!.outputIds!]
    const old = Array.from({ length: 7 }, (_, n) => ({ ids: [...ids, n, n + 1], mask: [...ids.map(() => 0), 1, 1] }))
    writeFileSync(scene.path('rows.json'), JSON.stringify(old))
    await runPython('write-tokens.py', scene.path('tokens'), kind, scene.path('rows.json'))
    scene.run('a', [fresh!])
    await stage(scene).run({ run: 'a' })
    const { rows } = await load()
    expect(tokenManifest(scene)).toMatchObject({ version: 2, rows: 8, tokenized: { counts: { old: { rows: 7 } } } })
    const adopted = rows.filter(({ promptId }) => promptId === '')
    expect(adopted.map((row) => row.ids).sort()).toEqual(old.map((row) => row.ids).sort())
    expect(adopted.every(({ mask }) => mask.join('') === old[0]!.mask.join(''))).toBe(true)
  })

  it('refuses a tokenized dataset of another tokenizer or chat template, and one of text', async () => {
    scene.run('a', await samplesByQwen(0, 2))
    await stage(scene).run({ run: 'a' })
    scene.run('b', await samplesByQwen(2, 4))
    const other = stage(scene).plan({ run: 'b' }, { tokenizer: qwen.replace('qwen3', 'llama3_1') })
    await expect(other).rejects.toThrow(/another tokenizer and another chat template.*existing.*replace/)
    scene.write('data/train.jsonl', oldRow(1))
    await expect(stage(scene).plan({ run: 'b' }, { uri: scene.dataset })).rejects.toThrow(/holds no tokens/)
  })

  it('refuses adopted rows with ids that the tokenizer does not know', async () => {
    writeFileSync(scene.path('rows.json'), JSON.stringify([{ ids: [1, 2, 900_000], mask: [0, 1, 1] }]))
    await runPython('write-tokens.py', scene.path('tokens'), 'arrow', scene.path('rows.json'))
    scene.run('a', await samplesByQwen(0, 2))
    await expect(stage(scene).run({ run: 'a' })).rejects.toThrow(/1 rows of the current version have ids .* 900000/)
    expect(JSON.parse(scene.read('tokens/current.json')).version).toBe(1)
  })
})

describe('cached units', () => {
  it('are found by the next attempt, and gone once the version is published', async () => {
    scene.run('a', await samplesByQwen(0, 150))
    const plan = await stage(scene).plan({ run: 'a' })
    await stage(scene).tokenize(plan)
    const before = units()
    expect(before.filter((file) => file.endsWith('.rows'))).toHaveLength(2)
    expect(await stage(scene).tokenize(plan)).toMatchObject({ units: 2, rows: 150 })
    const made = await stage(scene).make(plan)
    expect(units()).toEqual(before)
    await stage(scene).publish(plan, made!)
    expect(scene.has('tokens/_work/units')).toBe(false)
  })

  it('that were changed are found and made again', async () => {
    scene.run('a', await samplesByQwen(0, 5))
    const plan = await stage(scene).plan({ run: 'a' })
    await stage(scene).tokenize(plan)
    damageUnits(scene)
    await stage(scene).tokenize(plan)
    expect(logged).toMatchObject([
      { message: 'a cached unit is made again', what: expect.stringContaining('has changed') },
    ])
    await stage(scene).make(plan)
  })

  it('that are whole but of other tokens than this code makes are found and made again', async () => {
    scene.run('a', await samplesByQwen(0, 5))
    scene.run('b', await samplesByQwen(5, 10))
    const [a, b] = [await stage(scene).plan({ run: 'a' }), await stage(scene).plan({ run: 'b' })]
    await stage(scene).tokenize(a)
    const [key] = units().map((file) => file.split('.')[0])
    await stage(scene).tokenize(b)
    const other = units()
      .map((file) => file.split('.')[0])
      .find((name) => name !== key)
    // The rows of b under the name of a, with a record that agrees with them in every way but where they come from.
    const record = (name: string) => JSON.parse(scene.read(`tokens/_work/units/${name}.json`))
    scene.write(`tokens/_work/units/${key}.rows`, readFileSync(scene.path(`tokens/_work/units/${other}.rows`)))
    scene.write(`tokens/_work/units/${key}.json`, JSON.stringify({ ...record(other!), facts: record(key!).facts }))
    await stage(scene).tokenize(a)
    expect(logged).toMatchObject([{ what: expect.stringContaining('other tokens than this code makes') }])
  })

  it('are held against the records again when they are merged', async () => {
    scene.run('a', await samplesByQwen(0, 5))
    const plan = await stage(scene).plan({ run: 'a' })
    await stage(scene).tokenize(plan)
    damageUnits(scene)
    await expect(stage(scene).make(plan)).rejects.toMatchObject({ type: 'UnitsMissing' })
    await stage(scene).tokenize(plan)
    expect(await stage(scene).make(plan)).toMatchObject({ version: 1 })
  })
})
