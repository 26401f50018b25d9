import type { Sampling } from '../domain/spec.ts'
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
import { answered } from './said.ts'
import { factsOf, type ServerInfo } from './server-facts.ts'
import { splitThinking } from './thinking.ts'
import { faultOf } from './validity.ts'
import { warningsFor } from './versions.ts'

/** `/health` generates a token itself and gives up after 20 s. */
const healthDeadlineMs = 25_000
const controlDeadlineMs = 5_000
const tokenizeDeadlineMs = 60_000

/**
 * SGLang by its own API: `/tokenize` renders the conversation with the server's own chat template, `/generate` takes those
 * ids and gives ids back, so that training ids are the engine's very ids.
 */
export class NativeClient implements EngineClient {
  readonly #http: EngineHttp
  readonly #load: LoadReader
  /** Whether the template opens the thinking itself, by its arguments. */
  readonly #beginsInThinking = new Map<string, Promise<boolean>>()

  constructor(options: EngineHttpOptions) {
    this.#http = new EngineHttp(options)
    this.#load = new LoadReader(this.#http)
  }

  async describe(): Promise<EngineDescription> {
    const [modelInfo, models, serverInfo] = await Promise.all([
      this.#ask<{ model_path: string; weight_version?: string }>('/model_info'),
      this.#ask<{ data: { id: string; max_model_len?: number }[] }>('/v1/models'),
      this.#ask<ServerInfo>('/server_info'),
    ])
    const facts = factsOf(serverInfo)
    const contextTokens = models.data[0]?.max_model_len
    return {
      model: modelInfo.model_path,
      weightVersion: modelInfo.weight_version ?? 'default',
      ...facts,
      ...(contextTokens && { contextTokens }),
      warnings: facts.version ? warningsFor(facts.version) : [],
    }
  }

  async complete(request: TurnRequest, options: RequestOptions): Promise<TurnReply> {
    const { ids, contextTokens } = await this.#tokenize(request, options)
    const room = contextTokens === undefined ? Number.POSITIVE_INFINITY : contextTokens - ids.length - 1
    if (room < 1) {
      const said = `The input (${ids.length} tokens) is longer than the model's context length (${contextTokens} tokens).`
      throw new AttemptFailed({ said })
    }
    const body = {
      input_ids: ids,
      sampling_params: samplingParams({
        ...request.sampling,
        maxNewTokens: Math.min(request.sampling.maxNewTokens, room),
      }),
      rid: request.rid,
    }
    const reply = answered(await this.#http.generate('/generate', body, options))
    return this.#accept(reply, ids, request)
  }

  load(): Promise<EngineLoad | undefined> {
    return this.#load.read()
  }

  async isHealthy(): Promise<boolean> {
    try {
      return (await this.#http.get('/health', { deadlineMs: healthDeadlineMs })).status === 200
    } catch (error) {
      if (error instanceof NoReply) return false
      throw error
    }
  }

  close(): Promise<void> {
    return this.#http.close()
  }

  async #tokenize(
    request: TurnRequest,
    options: RequestOptions,
  ): Promise<{ ids: number[]; contextTokens: number | undefined }> {
    const body = {
      messages: request.messages,
      ...(request.tools && { tools: request.tools }),
      ...(request.templateKwargs && { chat_template_kwargs: request.templateKwargs }),
    }
    const deadlineMs = Math.min(options.deadlineMs, tokenizeDeadlineMs)
    const reply = answered(await this.#http.generate('/tokenize', body, { ...options, deadlineMs }))
    const { tokens, max_model_len } = reply as { tokens?: unknown; max_model_len?: number }
    if (!Array.isArray(tokens))
      throw new AttemptFailed({ status: 200, finding: 'malformed', said: '/tokenize gave no tokens' })
    return { ids: tokens, contextTokens: max_model_len }
  }

  async #accept(reply: unknown, promptIds: number[], request: TurnRequest): Promise<TurnReply> {
    const { text, output_ids, meta_info } = reply as GenerateReply
    const fault = faultOf({
      finishType: meta_info?.finish_reason?.type,
      matched: meta_info?.finish_reason?.matched,
      message: meta_info?.finish_reason?.message,
      text,
      completionTokens: meta_info?.completion_tokens,
      outputIds: output_ids ?? 'missing',
    })
    if (fault) throw new AttemptFailed({ status: 200, ...fault })
    const { content, reasoning } = splitThinking(text, await this.#opensThinking(request))
    return {
      promptIds,
      outputIds: output_ids,
      text,
      content,
      ...(reasoning !== undefined && { reasoning }),
      finishReason: meta_info.finish_reason.type,
      ...(meta_info.weight_version && { weightVersion: meta_info.weight_version }),
      usage: {
        promptTokens: meta_info.prompt_tokens ?? promptIds.length,
        completionTokens: meta_info.completion_tokens,
        cachedTokens: meta_info.cached_tokens ?? 0,
        reasoningTokens: meta_info.reasoning_tokens ?? 0,
      },
    }
  }

  /** Looks once, for each set of template arguments, at how the rendered prompt ends. */
  #opensThinking({ templateKwargs }: TurnRequest): Promise<boolean> {
    const key = JSON.stringify(templateKwargs ?? {})
    const known = this.#beginsInThinking.get(key)
    if (known !== undefined) return known
    const looking = this.#lookAtPromptEnd(templateKwargs)
    this.#beginsInThinking.set(key, looking)
    looking.catch(() => this.#beginsInThinking.delete(key))
    return looking
  }

  async #lookAtPromptEnd(templateKwargs: TurnRequest['templateKwargs']): Promise<boolean> {
    const options = { deadlineMs: tokenizeDeadlineMs }
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const body = { messages, ...(templateKwargs && { chat_template_kwargs: templateKwargs }) }
    const { tokens } = answered(await this.#http.post('/tokenize', body, options)) as { tokens: number[] }
    const end = answered(
      await this.#http.post('/detokenize', { tokens: tokens.slice(-8), skip_special_tokens: false }, options),
    ) as { text: string }
    return end.text.trimEnd().endsWith('<think>')
  }

  async #ask<Answer>(path: string): Promise<Answer> {
    return answered(await this.#http.get(path, { deadlineMs: controlDeadlineMs })) as Answer
  }
}

interface GenerateReply {
  text: string
  output_ids: number[]
  meta_info: {
    finish_reason: { type: 'stop' | 'length'; matched?: unknown; message?: unknown }
    completion_tokens: number
    prompt_tokens?: number
    cached_tokens?: number
    reasoning_tokens?: number
    weight_version?: string
  }
}

/** Under the names of SGLang's `/generate`. What is left out is left to the server. */
function samplingParams(sampling: Sampling): Record<string, unknown> {
  const toSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(sampling).map(([name, value]) => [toSnakeCase(name), value]))
}
