import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Message } from '../../domain/prompt.ts'
import { runPython } from '../harness/python.ts'
import { oldRow, range, Scene, sampleOf } from '../unit/merge/arrange.ts'
import { merge } from '../unit/merge/perform.ts'

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

interface LoadedSplit {
  rows: number
  columns: Record<string, string>
  answers: string[]
  provenance: Record<string, unknown>
}

/** Loads what lies in the scene with Python's `datasets`, each in the way that it says. */
const loaded = (...ways: [how: string, where: string][]) =>
  runPython<Record<string, LoadedSplit>[]>(
    'load_versions.py',
    ...ways.flatMap(([how, where]) => [how, scene.path(`data/${where}`)]),
  )

const messages = "List({'role': Value('string'), 'content': Value('string'), 'reasoning_content': Value('string')})"
const plainMessages = "List({'role': Value('string'), 'content': Value('string')})"

/** Two runs with and without thoughts, merged into a dataset that begins with the first. */
async function mergeTwice(options: Record<string, unknown>) {
  scene.run(
    'a',
    range(0, 60).map((n) => sampleOf(n)),
  )
  const thoughtful = (n: number): Message[] => [
    { role: 'user', content: `question ${n}` },
    { role: 'assistant', content: `new answer ${n}`, reasoning_content: `thought ${n} – “é”\n"x"` },
  ]
  scene.run(
    'b',
    range(60, 100).map((n) => sampleOf(n, { messages: thoughtful(n) })),
  )
  await merge(scene, 'a', options)
  await merge(scene, 'b', options)
}

const allAnswers = range(0, 100)
  .map((n) => `new answer ${n}`)
  .sort()

describe('Python’s datasets loads a version', () => {
  it.each([
    ['jsonl', 'none', 'json', 'part-*.jsonl'],
    ['jsonl', 'gzip', 'json', 'part-*.jsonl.gz'],
    ['jsonl', 'zstd', 'json', 'part-*.jsonl.zst'],
    ['parquet', 'none', 'parquet', 'part-*.parquet'],
    ['parquet', 'snappy', 'parquet', 'part-*.parquet'],
    ['parquet', 'gzip', 'parquet', 'part-*.parquet'],
    ['parquet', 'zstd', 'parquet', 'part-*.parquet'],
  ])('of %s files with %s, by its folder and by its files', async (format, compression, builder, files) => {
    await mergeTwice({ format, compression, fileBytes: 10_000 })
    expect(scene.manifest().files.length).toBeGreaterThan(2)
    const [folder, byFiles] = await loaded(['folder', 'current'], [builder, `v0002/${files}`])
    for (const { train } of [folder!, byFiles!]) {
      expect(train).toMatchObject({ rows: 100, answers: allAnswers })
      expect(train!.provenance).toMatchObject({ model: 'model', tokens: 12 })
    }
    expect(folder!.train!.columns.messages).toBe(messages)
  })

  it('of Arrow files, from disk and by its files', async () => {
    await mergeTwice({ format: 'arrow', fileBytes: 10_000 })
    const [disk, byFiles] = await loaded(['disk', 'current'], ['arrow', 'v0002/*.arrow'])
    for (const { train } of [disk!, byFiles!]) {
      expect(train).toMatchObject({ rows: 100, answers: allAnswers })
      expect(train!.columns.messages).toBe(messages)
    }
  })

  it.each([
    ['jsonl', 'folder'],
    ['parquet', 'folder'],
    ['arrow', 'disk'],
  ])('of %s files with its splits', async (format, how) => {
    await mergeTwice({ format, holdout: { share: 0.2, split: 'test' } })
    const [all] = await loaded([how, 'current'])
    const { train, test } = all!
    expect(test!.rows).toBeGreaterThan(5)
    expect([...train!.answers, ...test!.answers].sort()).toEqual(allAnswers)
  })

  it('that was merged from rows of somebody else', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run(
      'r',
      range(20, 50).map((n) => sampleOf(n)),
    )
    await merge(scene, 'r')
    const [folder] = await loaded(['folder', 'current'])
    expect(folder!.train).toMatchObject({ rows: 50, columns: { messages: plainMessages, source: "Value('string')" } })
  })
})
