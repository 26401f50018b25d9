import type { Engine } from '../engine/engine.ts'
import { Refused } from '../engine/errors.ts'
import type { Generation } from '../engine/generation.ts'
import { refuseTooLong, refuseUnschedulable } from '../engine/planning.ts'
import { resolveSampling } from '../engine/sampling.ts'
import { type Fields, isFields, parseBody } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { refuseOtherThanJson } from '../http/content-type.ts'
import { internalServerError, json, openAiFailure, type Reply, type StreamReply } from '../http/reply.ts'
import { newRid, refuseUnwritable } from '../http/rid.ts'
import { splitReasoning } from '../text/reasoning.ts'
import { chatMessages, renderedIds } from './chat-messages.ts'
import { chatLogprobs } from './logprobs.ts'
import { answersWanted, openAiParams, refuseAdapter } from './openai-params.ts'
import { givenUp, type Item, runStream, runWhole, withRid } from './running.ts'
import { streamedError, usageOf } from './usage.ts'

/** `/v1/chat/completions`. */
export async function chat(engine: Engine, call: Call): Promise<Reply> {
  try {
    refuseOtherThanJson(call)
    const fields = parseBody(call.body)
    if (!isFields(fields)) return internalServerError
    const items = itemsOf(engine, fields)
    if (fields.stream === true) return stream(engine, fields, items, call)
    const generations = await Promise.all(items.map((item) => runWhole(engine, item, call)))
    const model = modelOf(fields)
    try {
      refuseUnwritable(model)
    } catch {
      return internalServerError
    }
    return json({
      id: items[0]?.rid,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model,
      choices: generations.map((generation, index) => choiceOf(engine, fields, generation, index)),
      usage: usageOf(engine, generations),
      metadata: { weight_version: engine.options.weightVersion },
    })
  } catch (error) {
    return openAiFailure(error)
  }
}

function itemsOf(engine: Engine, fields: Fields): Item[] {
  const messages = chatMessages(fields)
  if (fields.tool_choice === 'required' && !(Array.isArray(fields.tools) && fields.tools.length > 0)) {
    throw new Refused('Tools cannot be empty if tool choice is set to required.')
  }
  const params = openAiParams(fields, null)
  refuseAdapter(engine, modelOf(fields))
  const promptIds = renderedIds(engine, messages, fields)
  const wanted = answersWanted(fields)
  const rid = typeof fields.rid === 'string' && wanted === 1 ? fields.rid : newRid()
  const sampling = withRid(engine, rid, () => {
    refuseTooLong(promptIds.length, params.max_new_tokens, engine.options.contextLength)
    const { vocabSize } = engine.options.tokenizer
    return resolveSampling(params, { vocabSize, hasFloats: true, hasContract: false })
  })
  refuseUnschedulable(promptIds.length, engine.options)
  return Array.from({ length: wanted }, (_, at) => ({ rid: at === 0 ? rid : newRid(), promptIds, sampling }))
}

function modelOf({ model }: Fields): string {
  return typeof model === 'string' ? model : 'default'
}

function choiceOf(engine: Engine, fields: Fields, generation: Generation, index: number): Record<string, unknown> {
  const { content, reasoning } = contentOf(engine, fields, generation, generation.job.written)
  return {
    index,
    message: {
      role: 'assistant',
      content: content === '' ? null : content,
      reasoning_content: reasoning === '' ? null : reasoning,
      ...(engine.options.compat !== '0.5.23' && { tool_calls: null }),
    },
    logprobs: chatLogprobs(fields, generation),
    ...finishOf(generation),
  }
}

function contentOf(
  { options }: Engine,
  fields: Fields,
  generation: Generation,
  tokens: number,
): { content: string; reasoning: string } {
  const text = generation.text(tokens)
  const isSeparated = options.reasoningParser && fields.separate_reasoning !== false
  if (!isSeparated) return { content: text, reasoning: '' }
  return splitReasoning(text, generation.plan.answer.thinking === 'opened')
}

function finishOf(generation: Generation): { finish_reason: string | null; matched_stop: number | string | null } {
  const finish = generation.finishReason()
  return { finish_reason: finish?.type ?? null, matched_stop: finish?.type === 'stop' ? finish.matched : null }
}

function stream(engine: Engine, fields: Fields, items: Item[], call: Call): StreamReply {
  const model = modelOf(fields)
  const usage = isFields(fields.stream_options) ? fields.stream_options : {}
  const id = items[0]?.rid
  const run = async (send: (data: string) => void) => {
    const chunk = (choices: unknown[], more: Record<string, unknown> = {}) =>
      send(
        JSON.stringify({
          id,
          object: 'chat.completion.chunk',
          created: Math.floor(Date.now() / 1000),
          model,
          choices,
          ...more,
        }),
      )
    const generations = await Promise.all(
      items.map(async (item, index) => {
        const writer = new DeltaWriter(engine, fields, index, chunk)
        const ended = await runStream(engine, item, call, (generation, tokens) => writer.write(generation, tokens))
        const failure = givenUp(engine, ended)
        if (failure) send(streamedError(failure))
        else writer.finish(ended)
        return ended
      }),
    )
    if (usage.include_usage === true) chunk([], { usage: usageOf(engine, generations) })
    send('[DONE]')
  }
  return { kind: 'stream', sendsHeadAtOnce: false, run }
}

/** Turns a growing answer into the pieces that were added to it. */
class DeltaWriter {
  #content = 0
  #reasoning = 0
  #hasBegun = false

  constructor(
    readonly engine: Engine,
    readonly fields: Fields,
    readonly index: number,
    readonly chunk: (choices: unknown[]) => void,
  ) {}

  write(generation: Generation, tokens: number): void {
    this.#begin()
    const { content, reasoning } = contentOf(this.engine, this.fields, generation, tokens)
    if (reasoning.length > this.#reasoning) this.#send({ reasoning_content: reasoning.slice(this.#reasoning) })
    if (content.length > this.#content) this.#send({ reasoning_content: null, content: content.slice(this.#content) })
    this.#reasoning = Math.max(this.#reasoning, reasoning.length)
    this.#content = Math.max(this.#content, content.length)
  }

  finish(generation: Generation): void {
    this.write(generation, generation.job.written)
    this.#send({ reasoning_content: null }, finishOf(generation))
  }

  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#send({ reasoning_content: null, role: 'assistant', content: '' })
  }

  #send(delta: Record<string, unknown>, finish = { finish_reason: null, matched_stop: null } as object): void {
    this.chunk([{ index: this.index, delta, logprobs: null, ...finish }])
  }
}
