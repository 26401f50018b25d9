import type { Engine } from '../engine/engine.ts'
import { json, type Reply } from '../http/reply.ts'

const round = (value: number, digits: number) => Number(value.toFixed(digits))

/** `/v1/loads`: asks the scheduler up to 0.5.19; later it reads a snapshot that grows old when the scheduler hangs. */
export async function loads(engine: Engine): Promise<Reply> {
  const { options, scheduler, clock } = engine
  if (options.compat !== '0.5.23') await engine.whenResponsive()
  const nowMs = clock.nowMs()
  const { used, pending, running, waiting } = loadOf(engine)
  const load = {
    dp_rank: 0,
    timestamp: (engine.hungSinceMs ?? Date.now()) / 1000,
    num_running_reqs: running,
    num_waiting_reqs: waiting,
    num_used_tokens: used,
    num_total_tokens: used + pending,
    max_total_num_tokens: options.kvTokens,
    token_usage: round(used / options.kvTokens, 4),
    gen_throughput: round(scheduler.tokensPerSecond(nowMs), 2),
    cache_hit_rate: 0,
    utilization: round(running / options.cap, 4),
    max_running_requests: options.cap,
    memory: { weight_gb: 54, kv_cache_gb: 40, graph_gb: 0, token_capacity: options.kvTokens },
    queues: {
      waiting,
      grammar: 0,
      paused: 0,
      retracted: scheduler.waiting.filter((job) => job.retractions > 0).length,
    },
    num_total_reqs: running + waiting,
  }
  const aggregate = {
    total_running_reqs: running,
    total_waiting_reqs: waiting,
    total_reqs: running + waiting,
    avg_token_usage: load.token_usage,
    avg_throughput: load.gen_throughput,
    avg_utilization: load.utilization,
  }
  return json({
    timestamp: new Date().toISOString(),
    version: options.version,
    dp_rank_count: 1,
    loads: [load],
    ...(options.compat === '0.5.12' && { aggregate }),
  })
}

/** `/get_load`, the old form. */
export async function load(engine: Engine): Promise<Reply> {
  await engine.whenResponsive()
  const { used, pending, running, waiting } = loadOf(engine)
  return json([
    {
      dp_rank: null,
      num_reqs: running + waiting,
      num_waiting_reqs: waiting,
      num_tokens: used + pending,
      num_pending_tokens: pending,
      ts_tic: performance.now() / 1000,
    },
  ])
}

function loadOf({ scheduler, clock, hang }: Engine): {
  used: number
  pending: number
  running: number
  waiting: number
} {
  // Spinning between two batches it has no batch to count.
  if (hang === 'outside') return { used: 0, pending: 0, running: 0, waiting: 0 }
  return {
    used: scheduler.usedTokens(clock.nowMs()),
    pending: scheduler.waiting.reduce((sum, job) => sum + job.promptTokens + job.written, 0),
    running: scheduler.running.length + scheduler.prefilling.length,
    waiting: scheduler.waiting.length,
  }
}
