import type { FinishReason } from '../domain/sample.ts'
import {
  AttemptFailed,
  type EngineClient,
  type EngineDescription,
  type EngineLoad,
  type TurnReply,
  type TurnRequest,
} from './engine-client.ts'
import { EngineHttp, type EngineHttpOptions, NoReply, type RequestOptions } from './http.ts'
import { LoadReader } from './load.ts'
import { answered, jsonOf } from './said.ts'
import { factsOf, type ServerInfo } from './server-facts.ts'
import { splitThinking } from './thinking.ts'
import { faultOf } from './validity.ts'

const controlDeadlineMs = 5_000
const healthDeadlineMs = 25_000

/**
 * Any server with OpenAI's chat endpoint: vLLM, llama.cpp, Ollama, a router in front of several. It gives text and no ids;
 * those are left to the tokenize stage.
 */
export class ChatClient implements EngineClient {
  readonly #http: EngineHttp
  readonly #load: LoadReader
  #model = 'default'

  constructor(options: EngineHttpOptions) {
    this.#http = new EngineHttp(options)
    this.#load = new LoadReader(this.#http)
  }

  async describe(): Promise<EngineDescription> {
    const { data } = answered(await this.#http.get('/v1/models', { deadlineMs: controlDeadlineMs })) as {
      data?: ListedModel[]
    }
    const listed = data?.[0]
    if (!listed) throw new AttemptFailed({ status: 200, finding: 'malformed', said: '/v1/models lists no model' })
    this.#model = listed.id
    const about = await this.#aboutServer()
    const contextTokens = listed.max_model_len ?? listed.meta?.n_ctx
    return {
      model: listed.id,
      weightVersion: 'default',
      ...about,
      ...(contextTokens && { contextTokens }),
      warnings: [],
    }
  }

  async complete(request: TurnRequest, options: RequestOptions): Promise<TurnReply> {
    const { sampling } = request
    const body = {
      model: this.#model,
      messages: request.messages,
      ...(request.tools && { tools: request.tools }),
      ...(request.templateKwargs && { chat_template_kwargs: request.templateKwargs }),
      max_tokens: sampling.maxNewTokens,
      ...optional('temperature', sampling.temperature),
      ...optional('top_p', sampling.topP),
      ...optional('top_k', sampling.topK),
      ...optional('min_p', sampling.minP),
      ...optional('frequency_penalty', sampling.frequencyPenalty),
      ...optional('presence_penalty', sampling.presencePenalty),
      ...optional('repetition_penalty', sampling.repetitionPenalty),
      ...optional('stop', sampling.stop),
      ...optional('stop_token_ids', sampling.stopTokenIds),
      ...optional('seed', sampling.samplingSeed),
      rid: request.rid,
    }
    return accept(answered(await this.#http.generate('/v1/chat/completions', body, options)) as ChatReply)
  }

  load(): Promise<EngineLoad | undefined> {
    return this.#load.read()
  }

  async isHealthy(): Promise<boolean> {
    try {
      const { status } = await this.#http.get('/health', { deadlineMs: healthDeadlineMs })
      // Not every server has a health check; what lists its models is up.
      if (status === 404) return (await this.#http.get('/v1/models', { deadlineMs: controlDeadlineMs })).status === 200
      return status === 200
    } catch (error) {
      if (error instanceof NoReply) return false
      throw error
    }
  }

  close(): Promise<void> {
    return this.#http.close()
  }

  /** Version and cap, where the server has a way to tell. */
  async #aboutServer(): Promise<Pick<EngineDescription, 'version' | 'maxRunning'>> {
    const ask = async (path: string) => {
      const reply = await this.#http.get(path, { deadlineMs: controlDeadlineMs })
      return reply.status === 200 ? ((jsonOf(reply) ?? {}) as ServerInfo) : {}
    }
    return factsOf({ ...(await ask('/version')), ...(await ask('/server_info')) })
  }
}

interface ListedModel {
  id: string
  max_model_len?: number
  meta?: { n_ctx?: number }
}

interface ChatReply {
  choices?: {
    message?: {
      content?: string | null
      reasoning_content?: string | null
      reasoning?: string | null
      tool_calls?: unknown[] | null
    }
    finish_reason?: string
    matched_stop?: unknown
  }[]
  usage?: {
    prompt_tokens?: number
    completion_tokens?: number
    reasoning_tokens?: number
    prompt_tokens_details?: { cached_tokens?: number } | null
    completion_tokens_details?: { reasoning_tokens?: number } | null
  }
  metadata?: { weight_version?: string }
}

function accept({ choices, usage, metadata }: ChatReply): TurnReply {
  const choice = choices?.[0]
  const content = choice?.message?.content ?? ''
  const given = choice?.message?.reasoning_content ?? choice?.message?.reasoning ?? undefined
  const toolCalls = choice?.message?.tool_calls ?? []
  const fault = faultOf({
    finishType: choice?.finish_reason,
    matched: choice?.matched_stop,
    text: choice?.message ? (given ?? '') + content : undefined,
    completionTokens: usage?.completion_tokens,
    hasToolCalls: toolCalls.length > 0,
  })
  if (fault) throw new AttemptFailed({ status: 200, ...fault })
  const { reasoning, ...split } = given === undefined ? splitThinking(content, false) : { content, reasoning: given }
  return {
    text: content,
    ...split,
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
    finishReason: choice?.finish_reason as FinishReason,
    ...(metadata?.weight_version && { weightVersion: metadata.weight_version }),
    usage: {
      promptTokens: usage?.prompt_tokens ?? 0,
      completionTokens: usage?.completion_tokens ?? 0,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      reasoningTokens: usage?.reasoning_tokens ?? usage?.completion_tokens_details?.reasoning_tokens ?? 0,
    },
  }
}

function optional<Value>(name: string, value: Value | undefined): Record<string, Value> {
  return value === undefined ? {} : { [name]: value }
}
