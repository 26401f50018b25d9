import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Prompt } from '../../../domain/prompt.ts'
import { accounted, prepared } from './prepared.ts'

const folder = fileURLToPath(new URL('../../fixtures/datasets', import.meta.url))

/** What becomes of each row of a dataset's file: the roles of its prompt, or why it was rejected. */
const datasets: Record<string, string[]> = {
  'sharegpt-v3.json': ['user user', 'user', 'no_user_turn', 'user', 'no_user_turn', 'system user user', 'unknown_role'],
  'sharegpt52k.json': ['user', 'user'],
  'ultrachat_200k.jsonl': ['user user', 'user'],
  'open-perfectblend.jsonl': ['user', 'user', 'no_user_turn'],
  'perfectblend-regenerated.jsonl': ['user', 'user'],
  'magpie-pro.jsonl': ['user', 'user user'],
  'nemotron-v2.jsonl': ['user', 'user'],
  'nemotron-v1.jsonl': ['user tool', 'tools_unreadable'],
  'llama-nemotron.jsonl': ['system user', 'system user', 'user user'],
  'nemotron-v3.jsonl': ['system user tool', 'no_user_turn'],
  'daring-anteater.jsonl': ['system user', 'user'],
  'evol-codealpaca-v1.jsonl': ['user', 'no_user_turn'],
  'code-alpaca-20k.json': ['user', 'user'],
  'magicoder-evol-instruct.jsonl': ['user'],
  'opencodeinstruct.jsonl': ['user', 'user'],
  'opc-sft-stage1.jsonl': ['user'],
  'gsm8k.jsonl': ['user'],
  'hendrycks_math.jsonl': ['user'],
  'math_qa.jsonl': ['user'],
  'sciq.jsonl': ['user'],
  'camel-ai-physics.jsonl': ['user'],
  'nebius-infinity-instruct.jsonl': ['user'],
  'infinity-instruct.jsonl': ['user', 'user'],
  'openhermes-2.5.json': ['system user', 'user'],
  'tulu-3-sft-mixture.jsonl': ['user user'],
  'open-thoughts.jsonl': ['system user', 'user'],
  'wildchat-1m.jsonl': ['user'],
  'lmsys-chat-1m.jsonl': ['user'],
  'smoltalk2.jsonl': ['user', 'user', 'user'],
  'hermes-function-calling-v1.jsonl': ['system user tool'],
  'sharegpt4v.jsonl': ['multimodal', 'multimodal', 'multimodal', 'user'],
}

/** Rows of one file in their order. */
async function rowsOf(name: string) {
  const { plan, prompts, rejects } = await prepared({ sources: [{ name: 'data', uri: join(folder, name) }] })
  expect(plan.sources.map(accounted)).toEqual(plan.sources.map(({ read }) => read))
  const rows: (Prompt | string)[] = []
  for (const prompt of prompts) rows[prompt.provenance.row - 1] = prompt
  for (const { row, reason } of rejects('data')) rows[row - 1] = reason
  return { rows, prompts: rows.filter((row): row is Prompt => typeof row !== 'string') }
}

const rolesOf = (row: Prompt | string) =>
  typeof row === 'string' ? row : row.messages.map(({ role }) => role).join(' ')
const textsOf = (prompts: Prompt[]) => prompts.map(({ messages }) => messages.map(({ content }) => content))

describe('every dataset that people blend is read as it is', () => {
  it.each(Object.entries(datasets))('%s', async (name, expected) => {
    expect((await rowsOf(name)).rows.map(rolesOf)).toEqual(expected)
  })
})

describe('quirks of datasets', () => {
  it('ShareGPT: HTML and white space stay byte for byte', async () => {
    const { prompts } = await rowsOf('sharegpt52k.json')
    expect(textsOf(prompts)).toEqual([
      ['<div class="markdown"><p>What is <code>a &lt; b</code>?</p></div>\n'],
      ['<p>  </p>'],
    ])
    expect(textsOf((await rowsOf('open-perfectblend.jsonl')).prompts)[1]).toEqual(['def f(x):\n\treturn x  \n'])
  })

  it('ids come from whichever column has one, always as text', async () => {
    const idsOf = async (name: string) => (await rowsOf(name)).prompts.map(({ provenance }) => provenance.id)
    expect(await idsOf('perfectblend-regenerated.jsonl')).toEqual(['0', '1'])
    expect(await idsOf('wildchat-1m.jsonl')).toEqual(['cf1267ca6b2f6fccc9c36652a00059a1'])
    expect(await idsOf('lmsys-chat-1m.jsonl')).toEqual(['33f01939a744455c869cb234afca47f1'])
    expect(await idsOf('ultrachat_200k.jsonl')).toEqual([
      'f0e37e9f7800261167ce91143f98f511f768847236f133f2d0aed60b444ebe57',
      '0001',
    ])
    expect(await idsOf('openhermes-2.5.json')).toEqual([undefined, 'h-2'])
  })

  it('system columns stand before the turns, and empty ones nowhere', async () => {
    expect(textsOf((await rowsOf('llama-nemotron.jsonl')).prompts)).toEqual([
      ['detailed thinking on', 'Write quicksort in C.'],
      ['detailed thinking off', 'A prompt as plain text'],
      ['First', 'Second'],
    ])
  })

  it('thinking is taken from the column or the template arguments, which travel along', async () => {
    expect((await rowsOf('nemotron-v2.jsonl')).prompts.map(({ thinking }) => thinking)).toEqual(['on', 'off'])
    const { prompts } = await rowsOf('smoltalk2.jsonl')
    expect(prompts.map(({ thinking, templateKwargs }) => [thinking, templateKwargs])).toEqual([
      ['off', { custom_instructions: 'Be exact.', enable_thinking: false }],
      ['on', { enable_thinking: true }],
      [undefined, undefined],
    ])
  })

  it('tools are parsed from JSON in a string, and results keep the call that they answer', async () => {
    const [weather] = (await rowsOf('nemotron-v1.jsonl')).prompts
    expect(weather?.tools).toEqual([
      {
        type: 'function',
        function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
      },
    ])
    expect(weather?.messages[1]).toEqual({ role: 'tool', content: '{"t": 3}', tool_call_id: 'call_1' })
    expect((await rowsOf('hermes-function-calling-v1.jsonl')).prompts[0]?.tools).toHaveLength(1)
  })

  it('columns of single prompts are joined by a blank line', async () => {
    expect(textsOf((await rowsOf('code-alpaca-20k.json')).prompts)).toEqual([
      ['Create an array of length 5.'],
      ['Sort this list.\n\n[3, 1, 2]'],
    ])
    expect(textsOf((await rowsOf('math_qa.jsonl')).prompts)).toEqual([
      ['a train covers 120 km in 2 hours . its speed ?\n\na ) 50 , b ) 60 , c ) 70 , d ) 80 , e ) 90'],
    ])
  })

  it('answers of a multiple-choice question are listed in an order of the seed, the right one not always last', async () => {
    const [prompt] = textsOf((await rowsOf('sciq.jsonl')).prompts)
    const [question, options] = prompt?.[0]?.split('\n\n') ?? []
    expect(question).toBe('What gas do plants take in?')
    const listed = options?.split('\n').map((line) => line.slice(3))
    expect(listed?.toSorted()).toEqual(['carbon dioxide', 'helium', 'nitrogen', 'oxygen'])
    expect(options).toMatch(/^A\) .+\nB\) .+\nC\) .+\nD\) .+$/)
  })

  it('where a row comes from is carried along', async () => {
    const [first] = (await rowsOf('nemotron-v2.jsonl')).prompts
    expect(first?.provenance).toEqual({
      file: 'nemotron-v2.jsonl',
      row: 1,
      id: '8cd2a0f4-1',
      license: 'cc-by-4.0',
      category: 'math',
    })
    expect((await rowsOf('tulu-3-sft-mixture.jsonl')).prompts[0]?.provenance.origin).toBe(
      'ai2-adapt-dev/oasst1_converted',
    )
  })
})
