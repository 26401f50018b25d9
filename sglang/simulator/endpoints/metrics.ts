import type { Engine } from '../engine/engine.ts'
import { json, type Reply } from '../http/reply.ts'

/** Gauges that the simulated engine has nothing to say about: present, and always zero. */
const silentGauges =
  `num_grammar_queue_reqs num_paused_reqs cache_hit_rate mamba_usage mamba_available_tokens swa_token_usage
is_cuda_graph spec_accept_length spec_accept_rate`.split(/\s+/)

/** `/metrics` in Prometheus' text form; there only where it was asked for. */
export function metrics(engine: Engine): Reply {
  const { options, scheduler, clock, counters } = engine
  if (!options.metrics) return json({ detail: 'Not Found' }, 404)
  const nowMs = clock.nowMs()
  const used = scheduler.usedTokens(nowMs)
  const running = scheduler.running.length + scheduler.prefilling.length
  const gauges: Record<string, number> = {
    num_running_reqs: running,
    num_queue_reqs: scheduler.waiting.length,
    gen_throughput: scheduler.tokensPerSecond(nowMs),
    num_used_tokens: used,
    kv_used_tokens: used,
    kv_available_tokens: options.kvTokens - used,
    kv_evictable_tokens: 0,
    token_usage: used / options.kvTokens,
    full_token_usage: used / options.kvTokens,
    decode_sum_seq_lens: used,
    utilization: running / options.cap,
    num_retracted_reqs: scheduler.waiting.filter((job) => job.retractions > 0).length,
    max_total_num_tokens: options.kvTokens,
    context_len: options.contextLength,
    page_size: 1,
    new_token_ratio: 0.7,
    ...Object.fromEntries(silentGauges.map((name) => [name, 0])),
  }
  const totals: Record<string, number> = {
    prompt_tokens_total: counters.promptTokens,
    generation_tokens_total: engine.generatedTokens(),
    cached_tokens_total: counters.cachedTokens,
    num_requests_total: counters.completed + counters.aborted,
    num_aborted_requests_total: counters.aborted,
    num_retracted_requests_total: scheduler.retractedRequests,
  }
  const schedulerLabels = `{engine_type="unified",model_name="${options.modelId}",moe_ep_rank="0",pp_rank="0",tp_rank="0"}`
  const serverLabels = `{engine_type="unified",model_name="${options.modelId}"}`
  return {
    kind: 'whole',
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: lines('gauge', gauges, schedulerLabels) + lines('counter', totals, serverLabels),
  }
}

function lines(type: string, values: Readonly<Record<string, number>>, labels: string): string {
  return Object.entries(values)
    .map(([name, value]) => {
      const full = `sglang:${name}`
      return `# HELP ${full} Simulated.\n# TYPE ${full} ${type}\n${full}${labels} ${value}\n`
    })
    .join('')
}
