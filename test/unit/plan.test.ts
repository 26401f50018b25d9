import { describe, expect, it } from 'vitest'
import { cutShards } from '../../domain/plan.ts'

const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0)

describe('cutting shards', () => {
  it.each([0, 1, 7, 8, 9, 500, 501, 12_345, 193_010])('gives every one of %i prompts exactly one shard', (prompts) => {
    const sizes = cutShards({ prompts, shardSize: 500, engines: 8, lanes: 2 })
    expect(sum(sizes)).toBe(prompts)
    expect(sizes.every((size) => size >= 1 && size <= 500)).toBe(true)
  })

  it('uses whole shards until the end is near, then never grows again', () => {
    const sizes = cutShards({ prompts: 193_010, shardSize: 500, engines: 8, lanes: 2 })
    const firstSmall = sizes.findIndex((size) => size < 500)
    expect(sum(sizes.slice(0, firstSmall))).toBeGreaterThan(0.9 * 193_010)
    expect(sizes.slice(firstSmall)).toEqual(sizes.slice(firstSmall).sort((a, b) => b - a))
    expect(sizes.length).toBeLessThan(550)
  })

  it('leaves at most a handful of prompts in the last shards', () => {
    expect(cutShards({ prompts: 10_000, shardSize: 500, engines: 8, lanes: 2 }).at(-1)).toBeLessThanOrEqual(8)
  })

  it('cuts 100 million prompts into shards of 8,192 and a tail', () => {
    expect(cutShards({ prompts: 100_000_000, shardSize: 8192, engines: 8, lanes: 2 }).length).toBeLessThan(12_208 + 250)
  })
})
