import type { Engine } from '../engine/engine.ts'
import type { Generation } from '../engine/generation.ts'

/** What `/generate` tells of a request beside its text; the last chunk of a stream and a plain answer tell all of it. */
export function metaInfo(
  engine: Engine,
  generation: Generation,
  tokens: number,
  logprobs: Record<string, unknown>,
): Record<string, unknown> {
  const { rid, job, promptTokens, cachedTokens } = generation
  const { metrics, weightVersion, reasoningParser } = engine.options
  const finish = generation.finishReasonAt(tokens)
  const seconds = (ms: number) => ms / 1000
  // A request that never left the queue was never counted in tokens.
  const wasAdmitted = job.admittedMs !== undefined
  return {
    id: rid,
    finish_reason: finish,
    ...(wasAdmitted && { prompt_tokens: promptTokens }),
    weight_version: weightVersion,
    ...(wasAdmitted && { num_retractions: job.retractions }),
    ...(metrics && { queue_time: seconds((job.admittedMs ?? job.endedMs) - job.submittedMs) }),
    ...logprobs,
    reasoning_tokens: reasoningParser ? generation.reasoningTokens(tokens) : 0,
    completion_tokens: tokens,
    ...(wasAdmitted && {
      cached_tokens: cachedTokens,
      cached_tokens_details: cachedTokens > 0 ? { device: cachedTokens, host: 0 } : null,
    }),
    dp_rank: null,
    ...(finish && {
      // Of the simulated engine: what one of that speed would have said.
      e2e_latency: seconds(job.endedMs - job.submittedMs),
      ...(metrics && {
        request_received_ts: seconds(generation.receivedMs),
        api_server_dispatch_finish_ts: seconds(generation.receivedMs),
        request_finished_ts: seconds(generation.finishedMs),
        ...(tokens > 0 && { decode_throughput: throughput(generation) }),
      }),
      response_sent_to_client_ts: seconds(Date.now()),
    }),
  }
}

function throughput({ job }: Generation): number {
  const seconds = (job.endedMs - (job.firstTokenMs ?? job.endedMs)) / 1000
  return job.written / Math.max(seconds, 1e-6)
}
