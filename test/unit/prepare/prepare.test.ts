import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { prepareInStore } from '../../../activities/prepare/prepare-in-store.ts'
import { defaultSizes, type PrepareSizes } from '../../../activities/prepare/sizes.ts'
import type { Plan } from '../../../domain/plan.ts'
import type { Prompt } from '../../../domain/prompt.ts'
import type { Reject } from '../../../domain/reject.ts'
import { parseSpec } from '../../../domain/spec.ts'
import { createOpenStore } from '../../../store/open-store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prepare-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const row = (n: number) => JSON.stringify({ id: n, conversations: [{ from: 'human', value: `question ${n}` }] })

function write(name: string, lines: string[]): string {
  const path = join(folder, name)
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return path
}

let stores = 0

/** Prepares a run in a new store and reads back what it wrote. */
async function prepared(options: Record<string, unknown>, sizes: Partial<PrepareSizes> = {}) {
  const root = join(folder, `store-${stores++}`)
  const runFolder = join(root, 'runs/r')
  mkdirSync(runFolder, { recursive: true })
  const spec = parseSpec({ run: 'r', engines: 2, ...options })
  writeFileSync(join(runFolder, 'spec.json'), JSON.stringify({ spec, specHash: 'h', frozenAt: '' }))
  const prepare = () =>
    prepareInStore(
      { run: 'r', store: `file://${root}`, specHash: 'h', signal: new AbortController().signal, onProgress() {} },
      {
        openStore: createOpenStore(),
        scratch: join(folder, 'scratch'),
        threads: 2,
        sizes: { ...defaultSizes, ...sizes },
      },
    )
  const summary = await prepare()
  const files = () =>
    readdirSync(runFolder, { recursive: true, encoding: 'utf8' })
      .sort()
      .filter((name) => statSync(join(runFolder, name)).isFile())
      .map((name) => [name, readFileSync(join(runFolder, name), 'utf8')] as const)
  const texts = new Map(files())
  const lines = <T>(name: string) =>
    (texts.get(name) ?? '')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T)
  const plan = JSON.parse(texts.get('plan.json') ?? '') as Plan
  const shards = plan.shardSizes.map((_, n) => lines<Prompt>(`prompts/${String(n).padStart(5, '0')}.jsonl`))
  return {
    summary,
    plan,
    shards,
    prompts: shards.flat(),
    rejects: (source: string) => lines<Reject>(`rejects/${source}.jsonl`),
    files,
    again: prepare,
  }
}

describe('preparing a run', () => {
  it('turns rows of three schemas into prompts in shards, and lists what it could not read', async () => {
    const a = write('a.jsonl', [...Array.from({ length: 30 }, (_, n) => row(n)), '{"broken', '{"id":1}'])
    const b = write('b.jsonl', [
      '{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"assistant","content":"x"},{"role":"user","content":"And?"}]}',
    ])
    const c = write('c.jsonl', ['{"prompt":"question 3"}', '{"prompt":"Why?"}'])
    const { plan, shards, prompts, rejects, summary } = await prepared({ sources: [a, b, c], shardSize: 10 })
    expect(plan.prompts).toBe(32)
    expect(shards.map((shard) => shard.length)).toEqual(plan.shardSizes)
    expect(new Set(prompts.map((prompt) => prompt.promptId)).size).toBe(32)
    expect(plan.sources.map(({ read, prompts, duplicates }) => ({ read, prompts, duplicates }))).toEqual([
      { read: 32, prompts: 30, duplicates: 0 },
      { read: 1, prompts: 1, duplicates: 0 },
      { read: 2, prompts: 1, duplicates: 1 },
    ])
    expect(rejects('a')).toMatchObject([
      { file: 'a.jsonl', row: 31, reason: 'invalid_json' },
      { file: 'a.jsonl', row: 32, reason: 'no_known_columns' },
    ])
    expect(prompts.find((prompt) => prompt.source === 'b')?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'user',
    ])
    expect(summary).toMatchObject({ prompts: 32, read: 35, rejected: 2, duplicates: 1 })
  })

  it('gives the same bytes whatever memory and threads it had', async () => {
    const rows = Array.from({ length: 500 }, (_, n) => row(n % 450))
    const sources = [{ uri: write('a.jsonl', rows), limit: 200 }, write('b.jsonl', rows.slice(100).concat(row(1000)))]
    const small = { blockBytes: 1000, spillBytes: 3000, sliceBytes: 2000, rangeRows: 50 }
    const [roomy, tight] = [await prepared({ sources }), await prepared({ sources }, small)]
    expect(tight.files()).toEqual(roomy.files())
    expect(roomy.plan.sources.map(({ prompts }) => prompts)).toEqual([200, 1])
  })

  it('makes a plan once', async () => {
    const { summary, again, files } = await prepared({ sources: [write('a.jsonl', [row(1)])] })
    const before = files()
    expect(await again()).toEqual(summary)
    expect(files()).toEqual(before)
  })
})
