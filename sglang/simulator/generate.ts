import { type Fields, isFields, parseBody } from './body.ts'
import type { Call } from './call.ts'
import type { Engine } from './engine.ts'
import { GivenUp, Invalid, Refused, Unhandled } from './errors.ts'
import type { Generation } from './generation.ts'
import { metaInfo } from './meta-info.ts'
import { refuseTooLong } from './planning.ts'
import { json, nativeFailure, type Reply } from './reply.ts'
import { newRid } from './rid.ts'
import { resolveSampling, type Sampling } from './sampling.ts'
import { NotText } from './tokenizer.ts'

/** One prompt of a request. */
interface Item {
  rid: string
  promptIds: number[]
  sampling: Sampling
}

/** `/generate`: SGLang's own way to ask for tokens. */
export async function generate(engine: Engine, call: Call): Promise<Reply> {
  try {
    const fields = parseBody(call.body)
    if (!isFields(fields))
      throw new Invalid([
        `{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object to extract fields from', 'input': []}`,
      ])
    const prompts = promptsOf(fields)
    if (prompts.length === 1 && !isBatch(fields)) {
      const item = prepare(engine, fields, prompts[0], ridOf(fields, 0))
      return json(await complete(engine, item, call))
    }
    const items = prompts.map((prompt, at) => prepare(engine, fields, prompt, ridOf(fields, at), at))
    return json(await Promise.all(items.map((item) => complete(engine, item, call))))
  } catch (error) {
    return nativeFailure(error)
  }
}

function complete(engine: Engine, item: Item, call: Call): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const onEnd = (generation: Generation) => {
      const finish = generation.finishReason()
      if (finish?.type === 'abort' && finish.status_code) reject(new GivenUp(finish.message, finish.status_code))
      else resolve(chunkOf(engine, generation, generation.job.written))
    }
    engine.generate({ ...item, onEnd })
    call.onGone(() => engine.abort(item.rid))
  })
}

function chunkOf(engine: Engine, generation: Generation, tokens: number): Record<string, unknown> {
  return {
    text: generation.text(tokens),
    output_ids: generation.ids(tokens),
    meta_info: metaInfo(engine, generation, tokens),
  }
}

function isBatch({ text, input_ids }: Fields): boolean {
  return Array.isArray(text) || (Array.isArray(input_ids) && Array.isArray(input_ids[0]))
}

function promptsOf(fields: Fields): unknown[] {
  const { text, input_ids } = fields
  if (text === undefined || text === null) {
    if (!Array.isArray(input_ids)) {
      throw new Refused('Either text, input_ids or input_embeds should be provided.')
    }
    return isBatch(fields) ? input_ids : [input_ids]
  }
  return Array.isArray(text) ? text : [text]
}

function ridOf({ rid }: Fields, at: number): string {
  if (typeof rid === 'string') return rid
  const own = Array.isArray(rid) ? rid[at] : undefined
  return typeof own === 'string' ? own : newRid()
}

/** Checks a prompt in SGLang's order: whatever it refuses after it has taken the id, 0.5.12 never lets go of. */
function prepare(engine: Engine, fields: Fields, prompt: unknown, rid: string, at = 0): Item {
  engine.refuseDuplicate(rid)
  try {
    const promptIds = idsOf(engine, prompt)
    const params = paramsOf(fields, at)
    refuseTooLong(promptIds.length, params.max_new_tokens, engine.options.contextLength)
    const sampling = resolveSampling(params, {
      vocabSize: engine.options.tokenizer.vocabSize,
      hasFloats: false,
      refusesUnknownKeys: engine.options.compat === '0.5.23',
    })
    return { rid, promptIds, sampling }
  } catch (error) {
    engine.leak(rid)
    throw error
  }
}

function paramsOf({ sampling_params }: Fields, at: number): Fields {
  const params = Array.isArray(sampling_params) ? sampling_params[at] : sampling_params
  return isFields(params) ? params : {}
}

function idsOf(engine: Engine, prompt: unknown): number[] {
  if (Array.isArray(prompt)) {
    if (prompt.every((id) => Number.isInteger(id))) return prompt
    throw new Refused('input_ids must be a list of integers')
  }
  try {
    return engine.options.tokenizer.encode(String(prompt))
  } catch (error) {
    if (error instanceof NotText) throw new Unhandled(error.message)
    throw error
  }
}
