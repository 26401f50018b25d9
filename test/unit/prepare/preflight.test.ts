import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { usualAssumptions } from '../../../activities/prepare/preflight/estimate-run.ts'
import { type PreflightOptions, preflight } from '../../../activities/prepare/preflight/preflight.ts'
import { renderedBy, serverCounter, textCounter } from '../../../activities/prepare/preflight/prompt-counters.ts'
import { reportText } from '../../../activities/prepare/preflight/report-text.ts'
import { parseSpec } from '../../../domain/spec.ts'
import { EngineHttp } from '../../../sglang/http.ts'
import { startSimulatedEngine } from '../../../sglang/simulator/simulated-engine.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { prepared, temporaryFolder } from './prepared.ts'

const tokenizer = fileURLToPath(new URL('../../fixtures/tokenizer', import.meta.url))

function source(...rows: object[]): string {
  const path = join(temporaryFolder(), 'data.jsonl')
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

const prompt = (text: string) => ({ prompt: text })

async function report(fields: Record<string, unknown>, options: Partial<PreflightOptions> = {}) {
  const spec = parseSpec({ run: 'r', engines: 2, ...fields })
  return preflight(
    spec,
    'h',
    {
      counter: textCounter(spec),
      assumptions: { ...usualAssumptions, engines: spec.engines.length },
      samples: 2,
      countedPrompts: 1000,
      ...options,
    },
    { signal: new AbortController().signal, onProgress: () => {} },
    { openStore: createOpenStore(), scratch: temporaryFolder(), threads: 1 },
  )
}

describe('preflight', () => {
  it('makes the plan that the run will have, and shows its first prompts as they will be sent', async () => {
    const fields = {
      sources: [source({ prompt: 'a', reasoning: 'off', tools: [{ name: 't' }] }, prompt('b'), prompt('b'), { x: 1 })],
    }
    const found = await report(fields)
    const run = await prepared(fields)
    expect(found.plan).toEqual(run.plan)
    expect(found.samples.map(({ prompt }) => prompt)).toEqual(run.prompts)
    expect(found.samples.map(({ request }) => request)).toContainEqual({
      messages: [{ role: 'user', content: 'a' }],
      tools: [{ name: 't' }],
      chat_template_kwargs: { enable_thinking: false, thinking: false },
    })
    expect(found.rejects).toMatchObject([{ source: 'data', reject: { row: 4, reason: 'no_known_columns' } }])
  })

  it('counts tokens with the tokenizer, and finds what can not fit', async () => {
    const words = (n: number) => prompt(Array.from({ length: n }, (_, at) => ['one', 'two', 'three'][at % 3]).join(' '))
    const found = await report(
      { sources: [source(...[4, 10, 20, 60, 400].map(words))], tokenizer, sampling: { maxNewTokens: 50 } },
      { contextTokens: 100 },
    )
    expect(found.lengths).toEqual({
      method: 'tokenizer',
      counted: 5,
      mean: 105,
      median: 26,
      p95: 406,
      max: 406,
      histogram: [
        { from: 0, prompts: 1 },
        { from: 16, prompts: 2 },
        { from: 32, prompts: 0 },
        { from: 64, prompts: 1 },
        { from: 128, prompts: 0 },
        { from: 256, prompts: 1 },
      ],
    })
    expect(found.context).toEqual({
      contextTokens: 100,
      tooLong: 1,
      tooLongExamples: [expect.objectContaining({ row: 5, tokens: 406, file: 'data.jsonl' })],
      tight: 1,
    })
  })

  it('finds every prompt that can not fit, also those that the statistics leave out', async () => {
    const rows = Array.from({ length: 50 }, (_, n) => prompt(`${n} ${n % 10 === 3 ? 'word '.repeat(200) : ''}`))
    const found = await report({ sources: [source(...rows)] }, { countedPrompts: 5, contextTokens: 200 })
    expect(found.lengths.counted).toBe(5)
    expect(found.context?.tooLong).toBe(5)
  })

  it('asks a server for exact counts and for the text that the model reads', async () => {
    const engine = await startSimulatedEngine({ port: 0 })
    const http = new EngineHttp({ url: engine.url, connections: 2 })
    onTestFinished(async () => {
      await http.close()
      await engine.close()
    })
    const fields = { sources: [source(prompt('What is a tide?'), prompt('And the moon?'))] }
    const found = await report(fields, {
      counter: serverCounter(http, parseSpec({ run: 'r', engines: 2, ...fields })),
      render: (request) => renderedBy(http, request),
    })
    expect(found.lengths).toMatchObject({ method: 'server', counted: 2 })
    for (const { prompt, rendered } of found.samples) expect(rendered).toContain(prompt.messages[0]?.content)
  })

  it('estimates from the number of answers, and says what it assumes', async () => {
    const turns = (...roles: string[]) => ({ messages: roles.map((role, n) => ({ role, content: `${role} ${n}` })) })
    const rows = [turns('user', 'user', 'user'), turns('user', 'tool', 'tool', 'user'), turns('system', 'user')]
    const { estimate } = await report({ sources: [source(...rows)] })
    expect(estimate).toMatchObject({ answers: 7, outputTokens: 7 * 2712 })
    expect(estimate.hours).toBe(0)
  })

  it('is readable', async () => {
    const text = reportText(
      await report(
        { sources: [source(prompt('a'), prompt('a'), prompt('b'), { x: 1 })], nearDuplicates: {} },
        { contextTokens: 8192 },
      ),
    )
    expect(text).toContain('Run r: 2 prompts in 1 shard\n')
    expect(text).toMatch(/1 rejected: no_known_columns/)
    expect(text).toMatch(/1 duplicates/)
    expect(text).toContain('ESTIMATED from bytes')
    expect(text).toContain("Context of 8,192 tokens: 0 prompts can't fit")
  })
})
