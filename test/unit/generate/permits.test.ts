import { describe, expect, it } from 'vitest'
import { Permits } from '../../../activities/generate/permits.ts'

/** A taker whose prompts end when the test says so. */
function taker(order: number, prompts: number) {
  const running: (() => void)[] = []
  let left = prompts
  return {
    order,
    startNext() {
      if (left === 0) return undefined
      left -= 1
      return new Promise<void>((resolve) => running.push(resolve))
    },
    running,
    get started() {
      return prompts - left
    },
    async end(count = 1) {
      for (const resolve of running.splice(0, count)) resolve()
      await Promise.resolve()
      await Promise.resolve()
    },
  }
}

describe('permits', () => {
  it('are never exceeded', () => {
    const permits = new Permits(3)
    const shard = taker(0, 10)
    permits.enlist(shard)
    expect(shard.started).toBe(3)
    expect(permits.inUse).toBe(3)
  })

  it('go to the older shard first, and to the next one for its tail', async () => {
    const permits = new Permits(4)
    const [newer, older] = [taker(8, 10), taker(7, 5)]
    permits.setShut(true)
    permits.enlist(newer)
    permits.enlist(older)
    permits.setShut(false)
    expect([older.started, newer.started]).toEqual([4, 0])
    await older.end(2)
    expect([older.started, newer.started]).toEqual([5, 1])
  })

  it('come back from prompts that throw', async () => {
    const permits = new Permits(1)
    let started = 0
    permits.enlist({ order: 0, startNext: () => (started++ < 3 ? Promise.reject(new Error('x')) : undefined) })
    await expect.poll(() => started).toBe(4)
    expect(permits.inUse).toBe(0)
  })

  it('start nothing while shut, and go on when opened', () => {
    const permits = new Permits(2)
    const shard = taker(0, 5)
    permits.setShut(true)
    permits.enlist(shard)
    expect(shard.started).toBe(0)
    permits.setShut(false)
    expect(shard.started).toBe(2)
  })

  it('are used at once when the limit grows, and run out when it shrinks', async () => {
    const permits = new Permits(1)
    const shard = taker(0, 10)
    permits.enlist(shard)
    permits.setLimit(4)
    expect(shard.started).toBe(4)
    permits.setLimit(2)
    await shard.end(3)
    expect(permits.inUse).toBe(2)
    expect(shard.started).toBe(5)
  })

  it('ask nothing more of a shard that left', async () => {
    const permits = new Permits(1)
    const shard = taker(0, 10)
    const leave = permits.enlist(shard)
    leave()
    await shard.end()
    expect(shard.started).toBe(1)
  })
})
