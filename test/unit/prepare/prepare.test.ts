import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { accounted, prepared, temporaryFolder } from './prepared.ts'

const row = (n: number) => JSON.stringify({ id: n, conversations: [{ from: 'human', value: `question ${n}` }] })

function write(name: string, lines: string[]): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return path
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
    expect(plan.sources.map(accounted)).toEqual(plan.sources.map(({ read }) => read))
    expect(summary).toMatchObject({ prompts: 32, read: 35, rejected: 2, duplicates: 1 })
  })

  it('gives the same bytes whatever memory and threads it had', async () => {
    const rows = Array.from({ length: 500 }, (_, n) => row(n % 450))
    const sources = [{ uri: write('a.jsonl', rows), limit: 200 }, write('b.jsonl', rows.slice(100).concat(row(1000)))]
    const small = { blockBytes: 1000, spillBytes: 3000, sliceBytes: 2000, rangeRows: 50 }
    const [roomy, tight] = [await prepared({ sources }), await prepared({ sources }, { sizes: small })]
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
