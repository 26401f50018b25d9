import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../store/errors.ts'
import { Outage, type Retry } from '../../store/retry.ts'

const what = { uri: 's3://bucket', key: 'object', operation: 'put' }
const broken = new Error('connection refused')

function outageWith(policy: { outageBudgetMs: number; signal?: AbortSignal }) {
  const retries: Retry[] = []
  const onRetry = (retry: Retry) => retries.push(retry)
  const { outageBudgetMs, signal } = policy
  return {
    retries,
    outage: new Outage({ outageBudgetMs, firstDelayMs: 1, longestDelayMs: 8, onRetry }, { ...what, signal }),
  }
}

describe('an outage', () => {
  it('is waited out with waits that double up to a limit and are never in step', async () => {
    const { outage, retries } = outageWith({ outageBudgetMs: 10_000 })
    for (let attempt = 0; attempt < 30; attempt++) await outage.wait(broken)
    for (const { attempts, delayMs } of retries) {
      const longest = Math.min(8, 2 ** (attempts - 1))
      expect(delayMs).toBeGreaterThanOrEqual(longest / 2)
      expect(delayMs).toBeLessThanOrEqual(longest)
    }
    expect(new Set(retries.map(({ delayMs }) => delayMs)).size).toBeGreaterThan(25)
  })

  it('ends with its facts when the budget is used up, without a wait that would go beyond it', async () => {
    const { outage, retries } = outageWith({ outageBudgetMs: 30 })
    const giveUp = async () => {
      for (;;) await outage.wait(broken)
    }
    const error = await giveUp().catch((thrown) => thrown)
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(error).toMatchObject({ ...what, attempts: retries.length + 1, cause: broken })
    expect(error.elapsedMs).toBeLessThan(60)
    expect(error.message).toMatch(
      /^put s3:\/\/bucket\/object failed \d+ times in 0\.\d s, at last with: connection refused\./,
    )
  })

  it('is another one after something came through', async () => {
    const { outage, retries } = outageWith({ outageBudgetMs: 10_000 })
    for (let attempt = 0; attempt < 3; attempt++) await outage.wait(broken)
    outage.end()
    await outage.wait(broken)
    expect(retries.map(({ attempts }) => attempts)).toEqual([1, 2, 3, 1])
    expect(retries.at(-1)?.elapsedMs).toBe(0)
  })

  it('is not waited out for a caller that is gone', async () => {
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    const { outage } = outageWith({ outageBudgetMs: 10_000, signal: controller.signal })
    const waiting = outage.wait(broken)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(outage.wait(broken)).rejects.toBe(reason)
  })
})
