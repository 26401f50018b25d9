import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SimulatedEngines } from '../cli/simulated-engines.ts'
import { defaultTaskQueue } from '../domain/dispatch.ts'
import { LocalCluster } from '../workers/local-cluster.ts'
import { generateRun, writeSource } from './lib/generated-run.ts'
import { type ProcessUsage, usageOf } from './lib/process-usage.ts'
import { runBareLoop } from './lib/run-bare-loop.ts'
import type { BenchOptions } from './main.ts'

/** Short answers, so that the driver is measured and not the copying of text. */
const meanTokens = 128
const concurrency = 81

/**
 * A full engine worker, journal, fsync, uploads and Temporal included, against the bare loop that one would write by hand, on
 * a server that answers at once.
 */
export default async function driver({ quick }: BenchOptions) {
  const prompts = quick ? 20_000 : 200_000
  const home = await mkdtemp(join(tmpdir(), 'longhaul-bench-'))
  const engines = await SimulatedEngines.start([
    ...['--engines', '1', '--port', '0', '--time-scale', '0', '--health-ms', '10'],
    ...['--mean-tokens', String(meanTokens), '--max-running', '72'],
  ])
  try {
    const barePrompts = quick ? 10_000 : 40_000
    const bareBefore = await runBareLoop({
      urls: engines.urls,
      prompts: barePrompts,
      concurrency,
      output: join(home, 'bare.jsonl'),
    })
    const worker = await measureWorker(home, engines.urls, prompts)
    const bareAfter = await runBareLoop({
      urls: engines.urls,
      prompts: barePrompts,
      concurrency,
      output: join(home, 'bare.jsonl'),
    })
    const bareRate = (2 * barePrompts) / (bareBefore.seconds + bareAfter.seconds)
    const rate = prompts / worker.seconds
    return {
      prompts,
      rate_per_s: round(rate),
      bare_rate_per_s: round(bareRate),
      rate_vs_bare_loop: round(rate / bareRate, 3),
      cpu_s_per_1000: round((1000 * worker.cpuSeconds) / prompts, 3),
      bare_cpu_s_per_1000: round((1000 * (bareBefore.cpuSeconds + bareAfter.cpuSeconds)) / (2 * barePrompts), 3),
      rss_mb_at_10: worker.rssAt10,
      rss_mb_at_100: worker.rssAt100,
    }
  } finally {
    await engines.stop()
    await rm(home, { recursive: true, force: true })
  }
}

async function measureWorker(home: string, urls: string[], prompts: number) {
  const cluster = await LocalCluster.start({
    home,
    urls,
    taskQueue: defaultTaskQueue,
    engineArguments: () => ['--timings', 'rampMs=100', '--min-free-mib', '64'],
    controlArguments: [],
  })
  try {
    const source = await writeSource(home, prompts)
    const pid = cluster.workers.process('engine worker gpu-0').pid ?? 0
    const before = await usageOf(pid)
    const seen: { at10?: ProcessUsage; last: ProcessUsage } = { last: before }
    const run = await generateRun(
      cluster,
      { run: 'driver', sources: [source], engines: 1, shardSize: 2_000 },
      async (share) => {
        seen.last = await usageOf(pid)
        if (share >= 0.1) seen.at10 ??= seen.last
      },
    )
    if (run.samples !== prompts) throw new Error(`${run.samples} samples of ${prompts} prompts`)
    return {
      seconds: run.generatingSeconds,
      cpuSeconds: seen.last.cpuSeconds - before.cpuSeconds,
      rssAt10: seen.at10?.rssMb,
      rssAt100: seen.last.rssMb,
    }
  } finally {
    await cluster.stop()
  }
}

function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits))
}
