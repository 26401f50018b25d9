import type { Engine } from '../engine/engine.ts'
import { promptRoom } from '../engine/planning.ts'
import type { Call } from '../http/call.ts'
import { json, type Reply } from '../http/reply.ts'

/** `/model_info`. */
export function modelInfo({ options }: Engine): Reply {
  return json({
    model_path: options.modelPath,
    tokenizer_path: options.modelPath,
    is_generation: true,
    preferred_sampling_params: null,
    weight_version: options.weightVersion,
    has_image_understanding: false,
    has_audio_understanding: false,
    model_type: 'simulated',
    architectures: ['SimulatedForCausalLM'],
  })
}

/** `/v1/models`. */
export function models(engine: Engine): Reply {
  return json({ object: 'list', data: [modelCard(engine)] })
}

/** `/v1/models/{id}`. */
export function model(engine: Engine, call: Call): Reply {
  const id = decodeURIComponent(call.path.slice('/v1/models/'.length))
  if (id === engine.options.modelId) return json(modelCard(engine))
  const error = {
    message: `The model '${id}' does not exist`,
    type: 'invalid_request_error',
    param: 'model',
    code: 'model_not_found',
  }
  return json({ error }, 404)
}

function modelCard({ options }: Engine): Record<string, unknown> {
  return {
    id: options.modelId,
    object: 'model',
    created: Math.floor(Date.now() / 1000),
    owned_by: 'sglang',
    root: options.modelId,
    parent: null,
    max_model_len: options.contextLength,
  }
}

/** `/server_info`, with the keys to the server in clear, as SGLang has them. */
export async function serverInfo(engine: Engine): Promise<Reply> {
  await engine.whenResponsive()
  const { options, scheduler, clock } = engine
  const flags = {
    model_path: options.modelPath,
    tokenizer_path: options.modelPath,
    skip_tokenizer_init: false,
    context_length: null,
    host: options.host,
    port: options.port,
    max_running_requests: options.cap,
    max_queued_requests: Number.isFinite(options.maxQueued) ? options.maxQueued : null,
    max_total_tokens: options.kvTokens,
    chunked_prefill_size: options.serviceModel.chunk,
    schedule_policy: 'fcfs',
    device: 'simulated',
    random_seed: options.seed,
    watchdog_timeout: 300,
    enable_metrics: options.metrics,
    api_key: options.apiKey ?? null,
    admin_api_key: options.adminApiKey ?? null,
    served_model_name: options.modelId,
    weight_version: options.weightVersion,
    enable_cache_report: options.cacheReport,
    reasoning_parser: options.reasoningParser ? 'qwen3' : null,
    disable_radix_cache: options.cachePageTokens === 0,
  }
  return json({
    ...flags,
    status: 'ready',
    max_total_num_tokens: options.kvTokens,
    max_req_input_len: promptRoom(options),
    internal_states: [
      {
        ...flags,
        last_gen_throughput: scheduler.tokensPerSecond(clock.nowMs()),
        memory_usage: { weight: 54, kvcache: 40, token_capacity: options.kvTokens, graph: 0 },
        effective_max_running_requests_per_dp: options.cap,
      },
    ],
    version: options.version,
    simulated: true,
  })
}
