import { describe, expect, it } from 'vitest'
import { Job } from '../../../sglang/simulator/scheduling/job.ts'
import { Scheduler, type SchedulerLimits } from '../../../sglang/simulator/scheduling/scheduler.ts'
import {
  prefillMs,
  type ServiceModel,
  slowed,
  stepMs,
  stepsMs,
  stepsWithin,
} from '../../../sglang/simulator/scheduling/service-model.ts'

const model: ServiceModel = {
  t0Ms: 10,
  aMs: 0.1,
  bNs: 50,
  eta: 1.5,
  prefillTokensPerS: 10_000,
  prefillFixedMs: 15,
  chunk: 8_192,
}
const roomy: SchedulerLimits = { maxRunning: 4, maxQueued: Number.POSITIVE_INFINITY, kvTokens: 1_000_000 }

const job = (promptTokens: number, tokens: number) => new Job(promptTokens, tokens, tokens, 0, () => {})

/** Runs everything; returns the jobs in the order in which they ended. */
function runAll(scheduler: Scheduler): Job[] {
  return scheduler.advanceTo(Number.POSITIVE_INFINITY)
}

describe('service model', () => {
  it('adds up the same whether steps are taken one by one or in one jump', () => {
    let sum = 0
    for (let step = 0; step < 1_000; step++) sum += stepMs(model, 7, 500 + 7 * step)
    expect(stepsMs(model, 7, 500, 1_000)).toBeCloseTo(sum, 6)
  })

  it('finds the number of steps that fit into a time, to the last one', () => {
    for (const steps of [1, 2, 3, 17, 400, 123_456]) {
      const ms = stepsMs(model, 72, 90_000, steps)
      expect(stepsWithin(model, 72, 90_000, ms)).toBe(steps)
      expect(stepsWithin(model, 72, 90_000, ms - 1e-6)).toBe(steps - 1)
    }
    expect(stepsWithin(model, 72, 90_000, 0)).toBe(0)
  })
})

describe('scheduler', () => {
  it('gives one request its first token with the prefill and one more with each step', () => {
    const scheduler = new Scheduler(model, roomy)
    const only = job(1_000, 101)
    scheduler.submit(only, 50)
    expect(runAll(scheduler)).toEqual([only])
    expect(only.endedMs).toBeCloseTo(50 + prefillMs(model, 1_000) + stepsMs(model, 1, 1_001, 100), 6)
    expect(only.written).toBe(101)
  })

  it('runs first come first served, and never more than its slots', () => {
    const scheduler = new Scheduler(model, { ...roomy, maxRunning: 2 })
    const jobs = [job(10, 50), job(10, 30), job(10, 10), job(10, 10)]
    for (const one of jobs) scheduler.submit(one, 0)
    scheduler.advanceTo(100)
    expect(scheduler.running.length + scheduler.prefilling.length).toBe(2)
    expect(runAll(scheduler).map((one) => jobs.indexOf(one))).toEqual([1, 2, 3, 0])
  })

  it('stalls decoding for a prefill', () => {
    const alone = new Scheduler(model, roomy)
    const first = job(10, 200)
    alone.submit(first, 0)
    runAll(alone)

    const disturbed = new Scheduler(model, roomy)
    const same = job(10, 200)
    disturbed.submit(same, 0)
    disturbed.submit(job(8_000, 1), 1_000)
    runAll(disturbed)
    expect(same.endedMs - first.endedMs).toBeCloseTo(prefillMs(model, 8_000), 6)
  })

  it('dates events right however late it is asked, and in whatever pieces', () => {
    const ends = (stride: number) => {
      const scheduler = new Scheduler(model, roomy)
      const jobs = Array.from({ length: 12 }, (_, at) => job(20 + at, 40 + 37 * at))
      for (const one of jobs) scheduler.submit(one, 0)
      for (let atMs = 0; !scheduler.isIdle; atMs += stride) scheduler.advanceTo(atMs)
      return jobs.map((one) => one.endedMs)
    }
    const exact = ends(1e9)
    ends(7).forEach((ms, at) => {
      expect(ms).toBeCloseTo(exact[at]!, 6)
    })
  })

  it('writes as many tokens per simulated second as the formula says', () => {
    const cap = 72
    const tokens = 500
    const prompt = 100
    const scheduler = new Scheduler(model, { ...roomy, maxRunning: cap })
    // All alike, so that they run in waves whose length is known exactly.
    for (let at = 0; at < cap * 10; at++) scheduler.submit(job(prompt, tokens), 0)
    const ended = runAll(scheduler)
    const waveMs = prefillMs(model, cap * prompt) + stepsMs(model, cap, cap * (prompt + 1), tokens - 1)
    expect(ended.length).toBe(cap * 10)
    // Not to the last digit: the very first request finds an idle engine and is prefilled alone.
    expect(scheduler.nowMs / (10 * waveMs)).toBeCloseTo(1, 3)
  })

  it('ends a running request that is aborted after the step under way, with the tokens it has', () => {
    const scheduler = new Scheduler(model, roomy)
    const only = job(10, 1_000)
    scheduler.submit(only, 0)
    const step = stepMs(model, 1, 11)
    scheduler.advanceTo(prefillMs(model, 10) + 10.5 * step)
    scheduler.abort(only, prefillMs(model, 10) + 10.5 * step)
    const [ended] = runAll(scheduler)
    expect(ended?.ending).toBe('abortedRunning')
    expect(ended?.written).toBe(12)
    expect(scheduler.isIdle).toBe(true)
  })

  it('ends a waiting request that is aborted at once', () => {
    const scheduler = new Scheduler(model, { ...roomy, maxRunning: 1 })
    scheduler.submit(job(10, 100), 0)
    const second = job(10, 100)
    scheduler.submit(second, 0)
    expect(scheduler.abort(second, 5)).toEqual([second])
    expect(second.ending).toBe('abortedWaiting')
  })

  it('turns requests away when its queue is full', () => {
    const scheduler = new Scheduler(model, { ...roomy, maxRunning: 1, maxQueued: 1 })
    scheduler.submit(job(10, 100), 0)
    scheduler.submit(job(10, 100), 1)
    const third = job(10, 100)
    expect(scheduler.submit(third, 2)).toEqual([third])
    expect(third.ending).toBe('queueFull')
  })

  it('retracts those that have written least when memory runs out, and finishes them later', () => {
    const scheduler = new Scheduler(model, { ...roomy, maxRunning: 8, kvTokens: 8_000 })
    const jobs = Array.from({ length: 8 }, (_, at) => new Job(50, 3_900 + at, 4_000, 0, () => {}))
    for (const one of jobs) scheduler.submit(one, 0)
    const ended = runAll(scheduler)
    expect(ended.map((one) => one.ending)).toEqual(jobs.map(() => 'done'))
    expect(jobs.every((one) => one.written === one.plannedTokens)).toBe(true)
    expect(scheduler.retractedRequests).toBeGreaterThan(0)
    expect(jobs.reduce((sum, one) => sum + one.retractions, 0)).toBe(scheduler.retractedRequests)
  })

  it('gives up the last request when it does not fit even alone', () => {
    const scheduler = new Scheduler(model, { ...roomy, kvTokens: 300 })
    const only = job(100, 1_000)
    scheduler.submit(only, 0)
    expect(runAll(scheduler)[0]?.ending).toBe('outOfMemory')
    expect(only.written).toBe(200)
  })

  it('takes a change of speed into account from that moment on', () => {
    const scheduler = new Scheduler({ ...model, bNs: 0 }, roomy)
    const only = job(10, 101)
    scheduler.submit(only, 0)
    const step = stepMs(model, 1, 0)
    const half = prefillMs(model, 10) + 50 * step
    scheduler.changeModel(slowed({ ...model, bNs: 0 }, 3, 0), half)
    runAll(scheduler)
    expect(only.endedMs).toBeCloseTo(half + 50 * 3 * step, 6)
  })

  it('ends a request of no tokens after its prefill', () => {
    const scheduler = new Scheduler(model, roomy)
    const none = job(10, 0)
    scheduler.submit(none, 0)
    runAll(scheduler)
    expect([none.ending, none.written, none.endedMs]).toEqual(['done', 0, prefillMs(model, 10)])
  })
})
