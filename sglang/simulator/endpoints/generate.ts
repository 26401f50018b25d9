import type { Engine } from '../engine/engine.ts'
import { Invalid, Refused } from '../engine/errors.ts'
import type { Generation } from '../engine/generation.ts'
import { refuseTooLong, refuseUnschedulable } from '../engine/planning.ts'
import { resolveSampling } from '../engine/sampling.ts'
import { type Fields, isFields, parseBody, pythonRepr } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { json, nativeFailure, type Reply, type StreamReply } from '../http/reply.ts'
import { newRid, refuseUnwritable } from '../http/rid.ts'
import { encode } from './chat-messages.ts'
import { nativeLogprobs } from './logprobs.ts'
import { metaInfo } from './meta-info.ts'
import { type Item, runStream, runWhole, withRid } from './running.ts'

/** `/generate`: SGLang's own way to ask for tokens. */
export async function generate(engine: Engine, call: Call): Promise<Reply> {
  try {
    const fields = parseBody(call.body)
    if (!isFields(fields)) throw new Invalid([notAnObject])
    if (fields.stream === true) return stream(engine, fields, call)
    const isBatch = hasList(fields)
    const generations = await runAll(engine, fields, call)
    const chunks = generations.map((generation) => chunkOf(engine, fields, generation, generation.job.written))
    return json(isBatch ? chunks : chunks[0])
  } catch (error) {
    return nativeFailure(error)
  }
}

/** Each prompt of a batch is checked and run by itself; the first that fails fails them all. */
async function runAll(engine: Engine, fields: Fields, call: Call): Promise<Generation[]> {
  const rids: string[] = []
  try {
    return await Promise.all(
      promptsOf(fields).map(async (prompt, at) => {
        const item = prepare(engine, fields, prompt, at)
        rids.push(item.rid)
        return runWhole(engine, item, call)
      }),
    )
  } catch (error) {
    // Before 0.5.17 the others went on, with nobody listening.
    if (engine.options.compat === '0.5.23') for (const rid of rids) engine.abort(rid)
    throw error
  }
}

const notAnObject =
  "{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object to extract fields from'}"

/** The head goes out before anything is checked, so whatever is wrong comes as an event. */
function stream(engine: Engine, fields: Fields, call: Call): StreamReply {
  const run = async (send: (data: string) => void) => {
    try {
      const isBatch = hasList(fields)
      const items = itemsOf(engine, fields)
      const chunk = (generation: Generation, tokens: number, index: number) =>
        send(JSON.stringify({ ...chunkOf(engine, fields, generation, tokens), ...(isBatch && { index }) }))
      await Promise.all(
        items.map(async (item, index) => {
          const ended = await runStream(engine, item, call, (generation, tokens) => chunk(generation, tokens, index))
          chunk(ended, ended.job.written, index)
        }),
      )
    } catch (error) {
      const failure = nativeFailure(error)
      send(failure.status === 500 ? JSON.stringify({ error: { message: String(error) } }) : failure.body)
    }
    send('[DONE]')
  }
  return { kind: 'stream', sendsHeadAtOnce: true, run }
}

function chunkOf(engine: Engine, fields: Fields, generation: Generation, tokens: number): Record<string, unknown> {
  return {
    text: generation.text(tokens),
    output_ids: generation.ids(tokens),
    meta_info: metaInfo(engine, generation, tokens, nativeLogprobs(fields, generation, tokens)),
  }
}

function hasList({ text, input_ids }: Fields): boolean {
  return Array.isArray(text) || (Array.isArray(input_ids) && Array.isArray(input_ids[0]))
}

function itemsOf(engine: Engine, fields: Fields): Item[] {
  return promptsOf(fields).map((prompt, at) => prepare(engine, fields, prompt, at))
}

function promptsOf(fields: Fields): unknown[] {
  const { text, input_ids } = fields
  if (text !== undefined && text !== null) return Array.isArray(text) ? text : [text]
  if (!Array.isArray(input_ids)) throw new Refused('Either text, input_ids or input_embeds should be provided.')
  return hasList(fields) ? input_ids : [input_ids]
}

function prepare(engine: Engine, fields: Fields, prompt: unknown, at: number): Item {
  const rid = ridOf(fields, at)
  const item = withRid(engine, rid, () => {
    const params = paramsOf(fields, at)
    const promptIds = Array.isArray(prompt) ? idsGiven(engine, prompt) : encode(engine, String(prompt))
    refuseTooLong(promptIds.length, params.max_new_tokens, engine.options.contextLength)
    const sampling = resolveSampling(params, {
      vocabSize: engine.options.tokenizer.vocabSize,
      hasFloats: false,
      hasContract: engine.options.compat === '0.5.23',
    })
    refuseUnwritable(rid)
    return { rid, promptIds, sampling }
  })
  refuseUnschedulable(item.promptIds.length, engine.options)
  return item
}

function ridOf({ rid, text, input_ids }: Fields, at: number): string {
  if (typeof rid === 'string') return hasList({ text, input_ids }) ? `${rid}_${at}` : rid
  const own = Array.isArray(rid) ? rid[at] : undefined
  return typeof own === 'string' ? own : newRid()
}

function paramsOf({ sampling_params }: Fields, at: number): Fields {
  const params = Array.isArray(sampling_params) ? sampling_params[at] : sampling_params
  return isFields(params) ? params : {}
}

function idsGiven({ options }: Engine, ids: unknown[]): number[] {
  if (!ids.every((id): id is number => Number.isInteger(id))) {
    throw new Invalid(["{'type': 'int_type', 'loc': ('body', 'input_ids'), 'msg': 'Input should be a valid integer'}"])
  }
  const { vocabSize } = options.tokenizer
  if (ids.some((id) => id >= vocabSize)) {
    // SGLang does say them all, however many there are.
    throw new Refused(`The input_ids ${pythonRepr(ids)} contains values greater than the vocab size (${vocabSize}).`)
  }
  return ids
}
