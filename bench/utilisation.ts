import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SimulatedEngines } from '../cli/simulated-engines.ts'
import { defaultTaskQueue } from '../domain/dispatch.ts'
import { LocalCluster } from '../workers/local-cluster.ts'
import { engineCapacity } from './lib/capacity.ts'
import { type GeneratedRun, generateRun, writeSource } from './lib/generated-run.ts'
import { runBareLoop } from './lib/run-bare-loop.ts'
import { TokenWatch } from './lib/token-watch.ts'
import type { BenchOptions } from './main.ts'

const engineCount = 8
const maxRunning = 72
/** A hundred times faster than real GPUs: 15 hours in 9 minutes. */
const timeScale = 0.01
/** Permits of our engine workers, given to the bare loop as well. */
const concurrency = maxRunning + 9

/**
 * The original run (193,010 prompts, eight engines) on simulated engines with a fast clock: Longhaul against the ideal, and
 * against the bare loop that one would write by hand; and once more with three engine losses.
 */
export default async function utilisation({ quick }: BenchOptions) {
  const prompts = quick ? 8_000 : 193_010
  const capacity = engineCapacity(maxRunning)
  /** Tokens per real second of all engines together. */
  const fullSpeed = (engineCount * capacity) / timeScale

  const bare = await withEngines(async (urls, home) => {
    const watch = new TokenWatch(urls)
    const result = await runBareLoop({ urls, prompts, concurrency, output: join(home, 'bare.jsonl') })
    await watch.stop()
    return { ...result, tail: watch.tailShare(fullSpeed), ideal: result.outputTokens / fullSpeed }
  })
  say(`bare loop: ${bare.seconds.toFixed(1)} s, ideal ${bare.ideal.toFixed(1)} s`)

  const ours = await withEngines((urls, home) => runOurs(urls, home, prompts, fullSpeed, async () => {}))
  const ideal = ours.outputTokens / fullSpeed
  say(`longhaul: ${ours.generatingSeconds.toFixed(1)} s, ideal ${ideal.toFixed(1)} s`)

  const losses: Loss[] = []
  const faulted = await withEngines((urls, home) =>
    runOurs(urls, home, prompts, fullSpeed, losingEngines(urls, losses, ideal)),
  )
  const faultedIdeal = idealWithLosses(faulted.outputTokens / (capacity / timeScale), losses, faulted.startedAt)
  say(
    `with three losses: ${faulted.generatingSeconds.toFixed(1)} s, ideal for what was left ${faultedIdeal.toFixed(1)} s`,
  )

  return {
    prompts,
    output_tokens: ours.outputTokens,
    simulated_hours: round(ours.generatingSeconds / timeScale / 3600, 2),
    makespan_vs_bare_loop: round(ours.generatingSeconds / ours.outputTokens / (bare.seconds / bare.outputTokens), 4),
    makespan_vs_ideal: round(ours.generatingSeconds / ideal, 4),
    bare_makespan_vs_ideal: round(bare.seconds / bare.ideal, 4),
    busy_share_by_engine: ours.tokensByEngine.map((tokens) =>
      round((tokens * timeScale) / capacity / ours.generatingSeconds, 4),
    ),
    tail_share: round(ours.tail, 4),
    bare_tail_share: round(bare.tail, 4),
    faulted_makespan_vs_ideal: round(faulted.generatingSeconds / faultedIdeal, 4),
    failures: ours.failures + faulted.failures,
  }
}

async function withEngines<Result>(use: (urls: string[], home: string) => Promise<Result>): Promise<Result> {
  const home = await mkdtemp(join(tmpdir(), 'longhaul-bench-'))
  const engines = await SimulatedEngines.start([
    ...['--engines', String(engineCount), '--port', '0', '--time-scale', String(timeScale)],
    ...['--max-running', String(maxRunning), '--metrics', '--health-ms', '20'],
  ])
  try {
    return await use(engines.urls, home)
  } finally {
    await engines.stop()
    await rm(home, { recursive: true, force: true })
  }
}

interface OurRun extends GeneratedRun {
  tail: number
  tokensByEngine: number[]
}

async function runOurs(
  urls: string[],
  home: string,
  prompts: number,
  fullSpeed: number,
  onShare: (share: number) => Promise<void>,
): Promise<OurRun> {
  const timings = 'recheckMs=50,lostAfterMs=1000,stallMs=3000,controlMs=500,rampMs=20,liveMs=2000,checkpointMs=10000'
  const cluster = await LocalCluster.start({
    home,
    urls,
    taskQueue: defaultTaskQueue,
    engineArguments: () => ['--min-free-mib', '64', '--timings', timings],
    controlArguments: ['--progress-seconds', '2'],
  })
  const watch = new TokenWatch(urls)
  try {
    const source = await writeSource(home, prompts)
    const shortTimes = {
      heartbeatSeconds: 3,
      scheduleToStartSeconds: 3,
      probeSeconds: [0.2, 0.5, 1],
      retrySeconds: [0],
    }
    const run = await generateRun(
      cluster,
      { run: 'utilisation', sources: [source], engines: engineCount, timings: shortTimes },
      onShare,
    )
    await watch.stop()
    if (run.samples + run.failures !== prompts)
      throw new Error(`${run.samples} samples and ${run.failures} failures of ${prompts} prompts`)
    return { ...run, tail: watch.tailShare(fullSpeed), tokensByEngine: watch.tokensByEngine }
  } finally {
    await watch.stop()
    await cluster.stop()
  }
}

/** An engine that was away for a while, or for good. */
interface Loss {
  /** Milliseconds since the epoch. */
  at: number
  seconds: number
}

/** Crashes three engines on the way: two come back after a twentieth of the run, one does not. */
function losingEngines(urls: string[], losses: Loss[], idealSeconds: number): (share: number) => Promise<void> {
  const plan = [
    { share: 0.25, engine: 1, seconds: idealSeconds / 20 },
    { share: 0.45, engine: 6, seconds: Number.POSITIVE_INFINITY },
    { share: 0.65, engine: 4, seconds: idealSeconds / 20 },
  ]
  return async (share) => {
    const due = plan[0]
    if (!due || share < due.share) return
    plan.shift()
    losses.push({ at: Date.now(), seconds: due.seconds })
    const loadMs = Math.min(2 ** 31 - 1, due.seconds * 1000)
    const body = JSON.stringify({ fault: 'F1', with: { loadMs } })
    // A crash cuts this connection as well.
    await fetch(`${urls[due.engine]}/_sim/fault`, { method: 'POST', body }).catch(() => {})
  }
}

/**
 * Makespan if all the capacity that was left had been used: `work` is in seconds of one engine. Solves
 * `engines × T − Σ time away until T = work` for T.
 */
function idealWithLosses(work: number, losses: Loss[], startedAt: number): number {
  const awayUntil = (end: number) =>
    losses.reduce((away, { at, seconds }) => away + Math.min(seconds, Math.max(0, end - (at - startedAt) / 1000)), 0)
  let makespan = work / engineCount
  for (let n = 0; n < 100; n++) makespan = (work + awayUntil(makespan)) / engineCount
  return makespan
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
