import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { adopt } from '../../../activities/merge/adopt/adopt.ts'
import { oldRowReader } from '../../../activities/merge/rows/old-row.ts'
import type { Message } from '../../../domain/prompt.ts'
import { skeletonText } from '../../../domain/skeleton.ts'
import { id128 } from '../../../shuffle/digest.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { oldRow, range, Scene, sampleOf } from './arrange.ts'
import { merge } from './perform.ts'

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

const fixtures = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url))
const factsOf = oldRowReader(undefined)
const newPrompt = 'A question that no dataset has?'
const newSample = sampleOf(0, {
  promptId: id128(skeletonText([{ role: 'user', content: newPrompt }])),
  messages: [
    { role: 'user', content: newPrompt },
    { role: 'assistant', content: 'The new answer.' },
  ],
})

type Row = Record<string, unknown>

/** What lies on a path into a row. */
function dig(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce((inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key], value)
}

/** Where a row of each dataset must hold the question and the answer. */
const places: Record<string, (row: Row) => unknown[]> = {
  'sharegpt-v3.json': fromValue('conversations', 'human', 'gpt'),
  'sharegpt52k.json': fromValue('conversations', 'human', 'gpt'),
  'ultrachat_200k.jsonl': (row) => [...roleContent('messages')(row), row.prompt],
  'open-perfectblend.jsonl': fromValue('conversations', 'human', 'gpt'),
  'perfectblend-regenerated.jsonl': roleContent('conversations'),
  'magpie-pro.jsonl': fromValue('conversations', 'human', 'gpt'),
  'nemotron-v2.jsonl': roleContent('messages'),
  'nemotron-v1.jsonl': roleContent('messages'),
  'nemotron-v3.jsonl': roleContent('messages'),
  'llama-nemotron.jsonl': (row) => [dig(row, 'input', 0, 'content'), row.output],
  'evol-codealpaca-v1.jsonl': columns('instruction', 'output'),
  'code-alpaca-20k.json': columns('instruction', 'output'),
  'magicoder-evol-instruct.jsonl': columns('instruction', 'response'),
  'opencodeinstruct.jsonl': columns('input', 'output'),
  'opc-sft-stage1.jsonl': columns('instruction', 'output'),
  'gsm8k.jsonl': columns('question', 'answer'),
  'hendrycks_math.jsonl': columns('problem', 'solution'),
  'math_qa.jsonl': columns('Problem', 'Rationale'),
  'sciq.jsonl': columns('question', 'correct_answer'),
  'camel-ai-physics.jsonl': columns('message_1', 'message_2'),
  'nebius-infinity-instruct.jsonl': (row) => [
    dig(row, 'conversation', 0, 'content'),
    dig(row, 'generated_message', 'content'),
  ],
  'infinity-instruct.jsonl': fromValue('conversations', 'human', 'gpt'),
  'openhermes-2.5.json': fromValue('conversations', 'human', 'gpt'),
  'tulu-3-sft-mixture.jsonl': roleContent('messages'),
  'open-thoughts.jsonl': fromValue('conversations', 'user', 'assistant'),
  'wildchat-1m.jsonl': roleContent('conversation'),
  'lmsys-chat-1m.jsonl': roleContent('conversation'),
  'smoltalk2.jsonl': roleContent('messages'),
  'hermes-function-calling-v1.jsonl': fromValue('conversations', 'human', 'gpt'),
}

function columns(question: string, answer: string) {
  return (row: Row): unknown[] => [row[question], row[answer]]
}

function roleContent(column: string) {
  return (row: Row): unknown[] => {
    const turns = row[column] as Message[]
    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant'])
    return turns.map(({ content }) => content)
  }
}

function fromValue(column: string, user: string, assistant: string) {
  return (row: Row): unknown[] => {
    const turns = row[column] as { from: string; value: string }[]
    expect(turns.map(({ from }) => from)).toEqual([user, assistant])
    return turns.map(({ value }) => value)
  }
}

describe('a dataset in the schema of', () => {
  it.each(Object.entries(places))(
    '%s takes new rows in its own columns, and keeps its old ones',
    async (name, placesOf) => {
      const original = readFileSync(join(fixtures('datasets'), name))
      scene.write(`data/${name}`, original)
      scene.run('r', [newSample])
      await merge(scene, 'r')
      expect(readFileSync(scene.path(`data/${name}`))).toEqual(original)
      const rows = scene.rows()
      const [fresh] = rows.filter((row) => dig(row, 'provenance', 'run') === 'r')
      const [question, answer] = placesOf(fresh!)
      expect([question, answer]).toEqual([newPrompt, 'The new answer.'])
      // Whoever reads the dataset finds the same conversation in the new row as in the sample.
      expect(factsOf(fresh!).promptId).toBe(newSample.promptId)
      const text = original
        .toString('utf8')
        .replace(/^\ufeff/, '')
        .trim()
      const before = (
        text.startsWith('[')
          ? JSON.parse(text)
          : text
              .split('\n')
              .filter((line) => line.trim())
              .map((line) => JSON.parse(line))
      ) as object[]
      const after = rows.filter((row) => dig(row, 'provenance', 'run') === null)
      const withoutEnd = after.map(({ promptId: _, provenance: __, ...row }) => JSON.stringify(row))
      expect(withoutEnd.sort()).toEqual(before.map((row) => JSON.stringify(row)).sort())
      const known = after.map((row) => row.promptId as string | null)
      expect(known).toEqual(after.map((row) => factsOf(row).promptId))
    },
  )

  it('one question and one answer leaves out what it cannot hold, and counts it', async () => {
    scene.write('data/gsm8k.jsonl', readFileSync(join(fixtures('datasets'), 'gsm8k.jsonl')))
    const turns: Message[] = [
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'Two?' },
      { role: 'assistant', content: '2' },
    ]
    scene.run('r', [newSample, sampleOf(1, { promptId: 'f'.repeat(32), messages: turns })])
    await merge(scene, 'r')
    expect(scene.manifest().counts).toMatchObject({ merged: 2, reasons: { unfit: 1 } })
  })

  it('nothing that could hold an answer is refused, with the columns that there are', async () => {
    scene.write('data/a.jsonl', '{"text":"once upon a time","n":1}\n')
    scene.run('r', [newSample])
    await expect(merge(scene, 'r')).rejects.toThrow('there are: text, n); name them with `mapping`')
    expect(scene.pointer().version).toBe(1)
  })

  it('columns that only a mapping knows', async () => {
    scene.write('data/a.jsonl', '{"dialog":[{"who":"Q","says":"Hi"},{"who":"A","says":"Ho"}]}\n')
    scene.run('r', [newSample])
    const mapping = { turns: 'dialog', role: 'who', content: 'says', roles: { Q: 'user', A: 'assistant' } }
    await merge(scene, 'r', { mapping })
    const dialogs = scene.rows().map((row) => JSON.stringify(row.dialog))
    expect(dialogs).toContain(`[{"who":"Q","says":${JSON.stringify(newPrompt)}},{"who":"A","says":"The new answer."}]`)
  })

  it('turns with tool calls and thoughts: nothing of them is lost', async () => {
    scene.write(
      'data/a.jsonl',
      `${JSON.stringify({
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
        ],
      })}\n`,
    )
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: { n: 7 } } }
    const messages: Message[] = [
      { role: 'user', content: 'Call it' },
      { role: 'assistant', content: '', reasoning_content: 'I must call.', tool_calls: [call] },
    ]
    scene.run('r', [sampleOf(1, { promptId: 'f'.repeat(32), messages })])
    await merge(scene, 'r')
    const [fresh] = scene.rows().filter((row) => row.promptId === 'f'.repeat(32))
    expect(fresh?.messages).toEqual([
      { role: 'user', content: 'Call it' },
      {
        ...{ role: 'assistant', content: '', reasoning_content: 'I must call.' },
        tool_calls: [{ ...call, function: { name: 'f', arguments: '{"n":7}' } }],
      },
    ])
  })
})

describe('adopting files of', () => {
  const expected = [
    ['rows.jsonl', 'jsonl', 'none'],
    ['rows.jsonl.gz', 'jsonl', 'gzip'],
    ['rows.jsonl.zst', 'jsonl', 'zstd'],
    ['rows.jsonl.bz2', 'jsonl', 'gzip'],
    ['rows.jsonl.xz', 'jsonl', 'gzip'],
    ['rows.json', 'jsonl', 'none'],
    ['rows-snappy.parquet', 'parquet', 'snappy'],
    ['rows-zstd.parquet', 'parquet', 'zstd'],
    ['rows-gzip.parquet', 'parquet', 'gzip'],
    ['rows-none.parquet', 'parquet', 'none'],
    ['rows-brotli.parquet', 'parquet', 'snappy'],
    ['rows-pages-v2.parquet', 'parquet', 'snappy'],
    ['rows-stream.arrow', 'arrow', 'none'],
    ['rows-file.arrow', 'arrow', 'none'],
  ] as const

  it.each(expected)('%s: read, not touched, and written on in the same format', async (name, format, compression) => {
    const original = readFileSync(join(fixtures('formats'), name))
    scene.write(`data/${name}`, original)
    scene.run('r', [newSample])
    await merge(scene, 'r')
    expect(readFileSync(scene.path(`data/${name}`))).toEqual(original)
    const [first, second] = [scene.manifest(1), scene.manifest(2)]
    expect(first).toMatchObject({ format, compression, files: [{ key: name, bytes: original.length }] })
    expect(second).toMatchObject({ format, compression, rows: first.rows + 1 })
    expect(second.counts).toMatchObject({ old: first.rows, new: 1, merged: first.rows + 1 })
    // And once more, now from files of our own.
    scene.run('s', [sampleOf(5)])
    await merge(scene, 's')
    expect(scene.manifest()).toMatchObject({ version: 3, rows: first.rows + 2, format })
  })

  it('save_to_disk: its own layout, in and out', async () => {
    for (const name of readdirSync(fixtures('formats/saved-to-disk'))) {
      scene.write(`data/${name}`, readFileSync(join(fixtures('formats/saved-to-disk'), name)))
    }
    scene.run('r', [newSample])
    await merge(scene, 'r')
    expect(readdirSync(scene.path('data/v0002')).sort()).toEqual([
      'README.md',
      'claim.json',
      'data-00000-of-00001.arrow',
      'dataset_info.json',
      'manifest.json',
      'state.json',
    ])
    const state = JSON.parse(scene.read('data/v0002/state.json'))
    expect(state._data_files).toEqual([{ filename: 'data-00000-of-00001.arrow' }])
    expect(scene.manifest(1).extras.map(({ key }) => key)).toEqual(['dataset_info.json', 'state.json'])
  })

  it('another place: they stay there, and are what the version consists of', async () => {
    scene.write('elsewhere/train.jsonl', range(0, 10).map(oldRow).join(''))
    const openStore = createOpenStore()
    const from = openStore(`file://${scene.path('elsewhere')}`)
    await adopt(openStore(scene.dataset), { from, spool: scene.scratch, now: Date.now })
    expect(scene.manifest()).toMatchObject({ version: 1, root: from.uri, rows: 10 })
    scene.run(
      'r',
      range(5, 15).map((n) => sampleOf(n)),
    )
    await merge(scene, 'r')
    expect(scene.manifest()).toMatchObject({ version: 2, rows: 15 })
  })

  it('several formats at once is refused', async () => {
    scene.write('data/a.jsonl', oldRow(1))
    scene.write('data/b.parquet', readFileSync(join(fixtures('formats'), 'rows-snappy.parquet')))
    scene.run('r', [newSample])
    await expect(merge(scene, 'r')).rejects.toThrow('holds files of several formats (jsonl, parquet)')
  })

  it('CSV is refused, with what to do', async () => {
    scene.write('data/a.csv', 'prompt,answer\nx,y\n')
    scene.run('r', [newSample])
    await expect(merge(scene, 'r')).rejects.toThrow('CSV holds no datasets; convert it')
  })

  it('a broken row is found when it is merged, with its place; nothing is published', async () => {
    scene.write('data/a.jsonl', `${oldRow(1)}${oldRow(2)}{"messages": [oops\n${oldRow(3)}`)
    scene.run('r', [newSample])
    await expect(merge(scene, 'r')).rejects.toThrow('a.jsonl can not be merged: row 3 is not JSON')
    expect(scene.pointer().version).toBe(1)
  })

  it('a truncated gzip file is found at once, with its name', async () => {
    const whole = readFileSync(join(fixtures('formats'), 'rows.jsonl.gz'))
    scene.write('data/a.jsonl.gz', whole.subarray(0, -10))
    scene.run('r', [newSample])
    await expect(merge(scene, 'r')).rejects.toThrow('a.jsonl.gz can not be read')
    expect(scene.has('data/current.json')).toBe(false)
  })

  it('rows without a conversation are kept and are duplicates of nothing', async () => {
    scene.write('data/a.jsonl', `${oldRow(1)}{"text":"x"}\n{"text":"x"}\n`)
    scene.run('r', [sampleOf(1), sampleOf(2)])
    await merge(scene, 'r')
    expect(scene.rows()).toHaveLength(4)
    expect(scene.rows().filter((row) => row.promptId === null)).toHaveLength(2)
  })
})
