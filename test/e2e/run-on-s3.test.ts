import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Plan } from '../../domain/plan.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { readJson } from '../../store/read-object.ts'
import { auditRun } from '../harness/audit.ts'
import { Cluster } from '../harness/cluster.ts'
import { writePrompts } from '../harness/sources.ts'
import { s3ForTests } from '../servers/s3-for-tests.ts'
import { type S3Server, testCredentials, testRegion } from '../servers/s3-server.ts'

const prompts = 1200
/** Permits of one engine: its cap of 72 and what keeps its queue from running dry. */
const inFlightAtMost = 72 + 9
let s3: S3Server
let cluster: Cluster

beforeAll(async () => {
  s3 = await s3ForTests()
  await s3.createBucket('runs')
  cluster = await Cluster.start({
    engines: 4,
    engine: { timeScale: 0.02, lengths: { meanTokens: 400, sigma: 0.8 } },
    store: {
      uri: 's3://runs/longhaul',
      s3: { endpoint: s3.endpoint, region: testRegion, credentials: testCredentials },
      env: {
        LONGHAUL_S3_ENDPOINT: s3.endpoint,
        AWS_REGION: testRegion,
        AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
      },
    },
  })
})
afterAll(async () => {
  await cluster?.stop()
  await s3?.stop()
})

/** Waits until the run has got so far. */
async function untilShare(run: string, share: number): Promise<void> {
  await expect
    .poll(
      async () => {
        const progress = await cluster.progress(run)
        return progress && progress.total > 0 ? (progress.completed + progress.failed) / progress.total : 0
      },
      { timeout: 240_000, interval: 100 },
    )
    .toBeGreaterThanOrEqual(share)
}

describe('invariants 1, 2, 3: a run on a real S3 server in which everything is killed once', () => {
  it('ends by itself with every prompt exactly once, and loses at most what was in flight', async () => {
    const source = await writePrompts(cluster.home, prompts)
    const run = 'killed'
    const handle = await cluster.startRun({ run, sources: [source], shardSize: 60 })

    await untilShare(run, 0.15)
    cluster.workers.process('engine worker gpu-1').signal('SIGKILL')
    await untilShare(run, 0.35)
    cluster.workers.process('control worker').signal('SIGKILL')
    await untilShare(run, 0.55)
    cluster.temporal.signal('SIGKILL')
    await handle.result()

    const audit = await auditRun(cluster.store, run)
    const plan = await readJson<Plan>(cluster.store, runKeys(run).plan)
    expect(plan.prompts).toBe(prompts)
    expect(audit.prompts.size).toBe(prompts)
    expect(audit.twice).toEqual([])
    expect(audit.missing).toEqual([])
    expect(audit.strange).toEqual([])
    expect(audit.samples.size).toBe(prompts)
    expect(audit.commits.map((commit) => commit.shard).sort((a, b) => a - b)).toEqual(
      plan.shardSizes.map((_, shard) => shard),
    )
    const generated = cluster.engines.reduce((total, engine) => total + engine.stats().completed, 0)
    expect(generated).toBeLessThanOrEqual(prompts + inFlightAtMost)

    expect(await cluster.progress(run)).toMatchObject({ total: prompts, completed: prompts, failed: 0, status: 'done' })
    expect(Object.keys((await cluster.progress(run))!)).toEqual([
      ...['total', 'completed', 'failed', 'rate_per_sec', 'eta_hours', 'total_input_tokens', 'total_output_tokens'],
      ...['avg_output_tokens', 'elapsed_hours', 's3_uploaded', 's3_bytes', 'status'],
    ])
  })
})
