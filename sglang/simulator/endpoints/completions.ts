import type { Engine } from '../engine/engine.ts'
import { Refused } from '../engine/errors.ts'
import type { Generation } from '../engine/generation.ts'
import { refuseTooLong, refuseUnschedulable } from '../engine/planning.ts'
import { resolveSampling } from '../engine/sampling.ts'
import { type Fields, isFields, parseBody } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { refuseOtherThanJson } from '../http/content-type.ts'
import { internalServerError, json, openAiFailure, type Reply, type StreamReply } from '../http/reply.ts'
import { newRid } from '../http/rid.ts'
import { encode } from './chat-messages.ts'
import { answersWanted, openAiParams, refuseAdapter } from './openai-params.ts'
import { givenUp, type Item, runStream, runWhole, withRid } from './running.ts'
import { streamedError, usageOf } from './usage.ts'

/** Tokens that are written when the request does not say. */
const defaultMaxTokens = 16

/** `/v1/completions`. */
export async function completions(engine: Engine, call: Call): Promise<Reply> {
  try {
    refuseOtherThanJson(call)
    const fields = parseBody(call.body)
    if (!isFields(fields)) return internalServerError
    const prompts = promptsOf(engine, fields)
    const items = itemsOf(engine, fields, prompts)
    if (fields.stream === true) return stream(engine, fields, items, call)
    const generations = await Promise.all(items.map((item) => runWhole(engine, item, call)))
    return json({
      ...headOf(fields, items),
      choices: generations.map((generation, index) => choiceOf(fields, generation, index)),
      usage: usageOf(engine, generations, prompts.length),
      metadata: { weight_version: engine.options.weightVersion },
    })
  } catch (error) {
    return openAiFailure(error)
  }
}

function promptsOf(engine: Engine, { prompt }: Fields): number[][] {
  if (prompt === undefined || prompt === null || prompt === '' || (Array.isArray(prompt) && prompt.length === 0)) {
    throw new Refused('Prompt cannot be empty')
  }
  const isIds = (value: unknown): value is number[] => Array.isArray(value) && value.every((id) => Number.isInteger(id))
  const ids = (one: unknown) => (isIds(one) ? one : encode(engine, String(one)))
  return isIds(prompt) || !Array.isArray(prompt) ? [ids(prompt)] : prompt.map(ids)
}

function itemsOf(engine: Engine, fields: Fields, prompts: number[][]): Item[] {
  const params = openAiParams(fields, defaultMaxTokens)
  refuseAdapter(engine, String(fields.model ?? 'default'))
  const { tokenizer, contextLength } = engine.options
  const wanted = answersWanted(fields)
  return prompts.flatMap((promptIds) => {
    const rid = typeof fields.rid === 'string' && prompts.length * wanted === 1 ? fields.rid : newRid()
    const sampling = withRid(engine, rid, () => {
      refuseTooLong(promptIds.length, params.max_new_tokens, contextLength)
      return resolveSampling(params, { vocabSize: tokenizer.vocabSize, hasFloats: true, hasContract: false })
    })
    refuseUnschedulable(promptIds.length, engine.options)
    return Array.from({ length: wanted }, (_, at) => ({ rid: at === 0 ? rid : newRid(), promptIds, sampling }))
  })
}

function headOf(fields: Fields, items: readonly Item[]): Record<string, unknown> {
  return {
    id: items[0]?.rid,
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: fields.model ?? 'default',
  }
}

function choiceOf(fields: Fields, generation: Generation, index: number): Record<string, unknown> {
  const { tokenizer } = generation.writer
  const tokens = generation.job.written
  const echoed = fields.echo === true ? tokenizer.decode(generation.promptIds) : ''
  return { index, text: echoed + generation.text(tokens), logprobs: null, ...finishAt(generation, tokens) }
}

function finishAt(generation: Generation, tokens: number): Record<string, unknown> {
  const finish = generation.finishReasonAt(tokens)
  return { finish_reason: finish?.type ?? null, matched_stop: finish?.type === 'stop' ? finish.matched : null }
}

function stream(engine: Engine, fields: Fields, items: Item[], call: Call): StreamReply {
  const usage = isFields(fields.stream_options) ? fields.stream_options : {}
  const run = async (send: (data: string) => void) => {
    const generations = await Promise.all(
      items.map(async (item, index) => {
        let sent = 0
        const chunk = (generation: Generation, tokens: number) => {
          const text = generation.text(tokens)
          const choice = { index, text: text.slice(sent), logprobs: null, ...finishAt(generation, tokens) }
          sent = text.length
          send(JSON.stringify({ ...headOf(fields, items), choices: [choice], usage: null }))
        }
        const ended = await runStream(engine, item, call, chunk)
        const failure = givenUp(engine, ended)
        if (failure) send(streamedError(failure))
        else chunk(ended, ended.job.written)
        return ended
      }),
    )
    if (usage.include_usage === true) {
      send(JSON.stringify({ ...headOf(fields, items), choices: [], usage: usageOf(engine, generations) }))
    }
    send('[DONE]')
  }
  return { kind: 'stream', sendsHeadAtOnce: false, run }
}
