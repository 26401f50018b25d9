import { appendFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FailureReason } from '../../domain/failure-reasons.ts'
import type { FaultSpec } from '../../sglang/simulator/simulated-engine.ts'
import { auditRun } from '../harness/audit.ts'
import { Cluster } from '../harness/cluster.ts'
import { writePrompts } from '../harness/sources.ts'

const goodPrompts = 10_000

/** Prompts that can't succeed, by the marker in their text, with the reason that they must end with. */
const hopeless: {
  marker: string
  count: number
  reason: FailureReason
  fault?: FaultSpec['fault']
  with?: FaultSpec['with']
}[] = [
  { marker: '#nan#', count: 3, reason: 'numeric_error', fault: 'F10' },
  { marker: '#abort#', count: 3, reason: 'aborted', fault: 'F9' },
  { marker: '#oom#', count: 3, reason: 'engine_error', fault: 'F8' },
  { marker: '#empty#', count: 2, reason: 'empty_answer', fault: 'F11' },
  { marker: '#broken#', count: 2, reason: 'malformed_answer', fault: 'F14', with: { mode: 'truncated' } },
  { marker: '#long#', count: 2, reason: 'prompt_too_long' },
]
const hopelessCount = hopeless.reduce((total, { count }) => total + count, 0)

const faults: FaultSpec[] = [
  ...hopeless.flatMap(({ marker, fault, with: parameters }) =>
    fault ? [{ fault, when: { marker }, ...(parameters && { with: parameters }) }] : [],
  ),
  { fault: 'F7', when: { probability: 0.01 } },
]

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start({
    engines: 8,
    engine: {
      timeScale: 0.01,
      contextLength: 4096,
      lengths: { meanTokens: 700, sigma: 0.8 },
      edge: { healthMs: 50 },
      faults,
    },
  })
})
afterAll(() => cluster?.stop())

async function untilShare(run: string, share: number): Promise<void> {
  const shareNow = async () => {
    const progress = await cluster.progress(run)
    return progress && progress.total > 0 ? (progress.completed + progress.failed) / progress.total : 0
  }
  await expect.poll(shareNow, { timeout: 400_000, interval: 200 }).toBeGreaterThanOrEqual(share)
}

describe('scenarios 1, 2, 3, 5, 6, 24, 46: one run through every kind of trouble', () => {
  it('ends by itself, each prompt once, and fails none but those that can not succeed', async () => {
    const run = 'chaos'
    const source = await writePrompts(cluster.home, goodPrompts)
    const bad = hopeless.flatMap(({ marker, count }) =>
      Array.from(
        { length: count },
        (_, n) => `${marker} ${n} ${marker === '#long#' ? 'far too long '.repeat(2_000) : ''}`,
      ),
    )
    await appendFile(
      source,
      bad.map((content) => `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`).join(''),
    )
    const handle = await cluster.startRun({ run, sources: [source], shardSize: 250, attempts: 5 })

    await untilShare(run, 0.1)
    cluster.workers.process('engine worker gpu-1').signal('SIGKILL')
    cluster.engines[2]!.crash(3_000)
    await untilShare(run, 0.25)
    cluster.engines[3]!.setFault({ fault: 'F3', when: { forMs: 15_000 } })
    await untilShare(run, 0.4)
    await cluster.engines[4]!.close()
    await untilShare(run, 0.5)
    cluster.temporal.signal('SIGKILL')
    await untilShare(run, 0.65)
    cluster.workers.process('engine worker gpu-5').signal('SIGKILL')
    const result = await handle.result()

    expect(result).toMatchObject({ samples: goodPrompts, failures: hopelessCount })
    const audit = await auditRun(cluster.store, run)
    expect([audit.twice, audit.missing, audit.strange]).toEqual([[], [], []])
    expect(audit.samples.size).toBe(goodPrompts)
    for (const { promptId, messages, reason, attempts } of audit.failures.values()) {
      const expected = hopeless.find(({ marker }) => messages[0]!.content.includes(marker))
      expect({ promptId, reason }).toEqual({ promptId, reason: expected?.reason })
      if (reason !== 'prompt_too_long') expect(attempts.length).toBe(5)
    }
  })
})
