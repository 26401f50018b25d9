import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { mainScript } from '../../../domain/scripts.ts'
import { accounted, prepared, temporaryFolder } from './prepared.ts'

/** Writes prompts as a JSONL source. */
function source(rows: (string | object)[], name = 'data.jsonl'): string {
  const path = join(temporaryFolder(), name)
  const lines = rows.map((row) => JSON.stringify(typeof row === 'string' ? { prompt: row } : row))
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

/** Texts of the prompts that stay, in the order of their rows, and the account. */
async function filtered(rows: (string | object)[], filters: object, spec: object = {}) {
  const { plan, prompts } = await prepared({ sources: [{ name: 'data', uri: source(rows), filters }], ...spec })
  const [account] = plan.sources
  expect(accounted(account!)).toBe(account?.read)
  const texts = prompts
    .toSorted((a, b) => a.provenance.row - b.provenance.row)
    .map(({ messages }) => messages.at(-1)?.content)
  return { texts, filtered: account?.filtered }
}

describe('filters', () => {
  it('count characters as people do, not as UTF-16 does', async () => {
    expect(await filtered(['abc', '😀😀', '😀😀😀', 'abcdef'], { minChars: 3, maxChars: 5 })).toEqual({
      texts: ['abc', '😀😀😀'],
      filtered: { too_few_chars: 1, too_many_chars: 1 },
    })
  })

  it('count user turns', async () => {
    const turns = (...texts: string[]) => ({ messages: texts.map((content) => ({ role: 'user', content })) })
    const rows = [turns('a'), turns('a', 'b'), turns('a', 'b', 'c')]
    expect(await filtered(rows, { minTurns: 2, maxTurns: 2 })).toEqual({
      texts: ['b'],
      filtered: { too_few_turns: 1, too_many_turns: 1 },
    })
  })

  it('take regular expressions with flags, all turns looked at', async () => {
    const rows = ['Write a POEM', 'Write code', 'write a poem about SQL', 'Sing']
    expect(await filtered(rows, { include: ['/poem/iu', '^Write'], exclude: ['SQL'] })).toEqual({
      texts: ['Write a POEM', 'Write code'],
      filtered: { excluded: 1, not_included: 1 },
    })
  })

  it('know the main script of a text', async () => {
    expect(
      ['Hello, мир', 'Привет, world!', '用 Python 写一个排序函数', 'これはペンです', '1 + 1'].map(mainScript),
    ).toEqual(['Latin', 'Cyrillic', 'Han', 'Hiragana', undefined])
    expect(await filtered(['Good day', 'Добрый день', '你好'], { scripts: ['Latin', 'Han'] })).toEqual({
      texts: ['Good day', '你好'],
      filtered: { other_script: 1 },
    })
  })

  it('know thinking modes', async () => {
    const rows = [{ prompt: 'a', reasoning: 'on' }, { prompt: 'b', reasoning: 'off' }, { prompt: 'c' }]
    expect(await filtered(rows, { thinking: 'on' })).toEqual({ texts: ['a'], filtered: { other_thinking: 2 } })
  })

  it('count tokens with the tokenizer of the spec', async () => {
    const tokenizer = fileURLToPath(new URL('../../fixtures/tokenizer', import.meta.url))
    const rows = ['one', 'one two', 'one two three', 'one two three one two']
    expect(await filtered(rows, { minTokens: 2, maxTokens: 3 }, { tokenizer })).toEqual({
      texts: ['one two', 'one two three'],
      filtered: { too_few_tokens: 1, too_many_tokens: 1 },
    })
  })

  it('estimate tokens without one', async () => {
    const rows = ['a'.repeat(40), 'a'.repeat(41)]
    expect((await filtered(rows, { maxTokens: 10 })).filtered).toEqual({ too_many_tokens: 1 })
  })
})

describe('near duplicates', () => {
  const story = (n: number) => Array.from({ length: 60 }, (_, word) => `word${(word * 7 + n * 13) % 101}`).join(' ')

  it('leave only the first of texts that differ in a word, a letter case or a comma', async () => {
    const rows = [
      story(1),
      story(2),
      `${story(1)} indeed`,
      story(2).replace('word5 ', 'Word5, ').toUpperCase(),
      story(3),
    ]
    const { plan, prompts } = await prepared({ sources: [source(rows)], nearDuplicates: {} })
    expect(prompts.map(({ provenance }) => provenance.row).toSorted()).toEqual([1, 2, 5])
    expect(plan.sources[0]).toMatchObject({ read: 5, duplicates: 2, nearDuplicates: 2, prompts: 3 })
  })

  it('are counted apart from exact ones, across sources', async () => {
    const first = source([story(1), story(1)], 'first.jsonl')
    const second = source([`${story(1)} indeed`, story(1), story(4)], 'second.jsonl')
    const { plan } = await prepared({ sources: [first, second], nearDuplicates: { similarity: 0.7 } })
    expect(
      plan.sources.map(({ duplicates, nearDuplicates, prompts }) => [duplicates, nearDuplicates, prompts]),
    ).toEqual([
      [1, 0, 1],
      [2, 1, 1],
    ])
  })

  it('are the same whatever the slices were', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => `${story(n % 90)} ${'so '.repeat(n % 3)}`)
    const spec = { sources: [source(rows)], nearDuplicates: {} }
    const [one, other] = [
      await prepared(spec),
      await prepared(spec, { sizes: { blockBytes: 2000, spillBytes: 5000, sliceBytes: 3000, rangeRows: 40 } }),
    ]
    expect(other.files()).toEqual(one.files())
    expect(one.plan.prompts).toBeLessThan(120)
  })
})

describe('decontamination', () => {
  const question = 'Janet’s ducks lay 16 eggs per day and she eats three for breakfast every morning with friends'

  it('leaves out prompts that share 13 words in a row with evaluation data, and lists them', async () => {
    const rows = [
      'What is the capital of France?',
      `Please solve this: ${question.toUpperCase()}!`,
      question.split(' ').slice(0, 11).join(' '),
    ]
    const evaluation = source([{ question, answer: '13' }], 'gsm8k.jsonl')
    const { plan, prompts, files } = await prepared({
      sources: [{ name: 'data', uri: source(rows) }],
      decontaminate: { against: [{ uri: evaluation }] },
    })
    expect(prompts.map(({ provenance }) => provenance.row).toSorted()).toEqual([1, 3])
    expect(plan.sources[0]?.filtered).toEqual({ contaminated: 1 })
    const listed = JSON.parse(new Map(files()).get('contaminated/data.jsonl') ?? '')
    expect(listed).toEqual({
      promptId: expect.stringMatching(/^[0-9a-f]{32}$/),
      file: 'data.jsonl',
      row: 2,
      words: 'janet s ducks lay 16 eggs per day and she eats three for',
      evaluation: { file: evaluation, row: 1 },
    })
  })

  it('matches shorter evaluation texts as a whole, and Chinese by its letters', async () => {
    const evaluation = source(
      ['Name the largest moon of the planet Saturn.', '请问世界上最长的河流是哪一条河流呢'],
      'eval.jsonl',
    )
    const rows = [
      'Q: name the largest moon of the planet saturn',
      'Name the largest moon',
      '问题：请问世界上最长的河流是哪一条河流呢？',
    ]
    const { prompts } = await prepared({
      sources: [source(rows)],
      decontaminate: { against: [{ uri: evaluation }] },
    })
    expect(prompts.map(({ provenance }) => provenance.row)).toEqual([2])
  })
})
