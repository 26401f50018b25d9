import { describe, expect, it } from 'vitest'
import { Job } from '../../../sglang/simulator/scheduling/job.ts'
import { Scheduler } from '../../../sglang/simulator/scheduling/scheduler.ts'
import { serviceModels } from '../../../sglang/simulator/scheduling/service-model.ts'
import { SimulatedClock } from '../../../sglang/simulator/scheduling/simulated-clock.ts'

const newScheduler = () =>
  new Scheduler(serviceModels['h200-37'], {
    maxRunning: 16,
    maxQueued: Number.POSITIVE_INFINITY,
    kvTokens: 1_000_000,
  })

/** Runs requests through a clock; resolves with them in their order when the last has ended. */
function run(clock: SimulatedClock, lengths: readonly number[]): Promise<Job[]> {
  return new Promise((resolve) => {
    let ended = 0
    const jobs = lengths.map(
      (tokens) =>
        new Job(100, tokens, tokens, 0, () => {
          if (++ended === jobs.length) resolve(jobs)
        }),
    )
    for (const job of jobs) clock.submit(job)
  })
}

describe('simulated clock', () => {
  const lengths = Array.from({ length: 120 }, (_, at) => 200 + ((at * 37) % 500))

  for (const timeScale of [0.002, 0.0005, 0]) {
    it(`gives the times of the service model at time scale ${timeScale}, however late its timers are`, async () => {
      const jobs = await run(new SimulatedClock(newScheduler(), timeScale), lengths)
      // The same arrivals, told to a scheduler without any clock.
      const exact = newScheduler()
      const copies = jobs.map((job) => new Job(100, job.plannedTokens, job.maxNewTokens, 0, () => {}))
      jobs.forEach((job, at) => {
        exact.submit(copies[at]!, job.submittedMs)
      })
      exact.advanceTo(Number.POSITIVE_INFINITY)
      jobs.forEach((job, at) => {
        expect(job.endedMs).toBeCloseTo(copies[at]!.endedMs, 3)
      })
    })
  }

  it('stands still while paused, and goes on from there', async () => {
    const clock = new SimulatedClock(newScheduler(), 0.001)
    const done = run(clock, [300, 400])
    clock.pause()
    const atMs = clock.nowMs()
    await new Promise((resolve) => setImmediate(resolve))
    expect(clock.nowMs()).toBe(atMs)
    clock.resume()
    expect((await done).map((job) => job.written)).toEqual([300, 400])
  })
})
