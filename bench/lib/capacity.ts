import { Job } from '../../sglang/simulator/scheduling/job.ts'
import { type LengthDistribution, lengthFrom } from '../../sglang/simulator/scheduling/lengths.ts'
import { Scheduler } from '../../sglang/simulator/scheduling/scheduler.ts'
import { serviceModels } from '../../sglang/simulator/scheduling/service-model.ts'

/** The distribution of the original run: 2,712 tokens on average, cut at 8,192. */
export const originalLengths: LengthDistribution = { meanTokens: 2_712, sigma: 0.8, maxTokens: 8_192 }

const promptTokens = 16
const warmUpJobs = 500
const measuredJobs = 5_000

/**
 * Output tokens per simulated second of one engine that is never short of work: its scheduler alone, without clock or
 * network, refilled in the moment in which a request ends. No driver can get more out of it.
 */
export function engineCapacity(maxRunning: number): number {
  const scheduler = new Scheduler(serviceModels['h200-72'], {
    maxRunning,
    maxQueued: Number.POSITIVE_INFINITY,
    kvTokens: 1e9,
  })
  let submitted = 0
  let ended = 0
  let tokens = 0
  let startMs = 0
  const submit = (atMs: number) => {
    const planned = lengthFrom(originalLengths, submitted++)
    scheduler.submit(new Job(promptTokens, planned, originalLengths.maxTokens, 0, () => {}), atMs)
  }
  for (let n = 0; n < maxRunning + 9; n++) submit(0)
  while (ended < warmUpJobs + measuredJobs) {
    const atMs = scheduler.nextEventMs()
    for (const job of scheduler.advanceTo(atMs)) {
      ended += 1
      if (ended === warmUpJobs) startMs = atMs
      if (ended > warmUpJobs) tokens += job.plannedTokens
      submit(atMs)
    }
  }
  return (1000 * tokens) / (scheduler.nowMs - startMs)
}
