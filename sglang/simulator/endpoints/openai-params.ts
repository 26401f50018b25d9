import type { Engine } from '../engine/engine.ts'
import { Invalid, Refused } from '../engine/errors.ts'
import { refuseUncompilable } from '../engine/grammar.ts'
import type { SamplingParams } from '../engine/sampling.ts'
import { type Fields, isFields, pythonRepr, pythonString } from '../http/body.ts'

const floatFields = ['temperature', 'top_p', 'min_p', 'frequency_penalty', 'presence_penalty', 'repetition_penalty']
const wholeFields = ['max_tokens', 'max_completion_tokens', 'top_k', 'min_tokens', 'n']
/** Passed on under their own names. */
const sameNames = [
  ...floatFields,
  'top_k',
  'stop',
  'stop_token_ids',
  'stop_regex',
  'ignore_eos',
  'no_stop_trim',
  'regex',
  'ebnf',
  'logit_bias',
]

/** The sampling parameters of a request in OpenAI's form. Throws `Invalid` or `Refused`. */
export function openAiParams(given: Fields, defaultMaxTokens: number | null): SamplingParams {
  const fields = coerced(given)
  const params: SamplingParams = {
    max_new_tokens: fields.max_completion_tokens ?? fields.max_tokens ?? defaultMaxTokens,
    ...(isThere(fields.min_tokens) && { min_new_tokens: fields.min_tokens }),
  }
  for (const name of sameNames) if (isThere(fields[name])) params[name] = fields[name]
  const schema = schemaOf(fields.response_format)
  if (schema !== undefined) params.json_schema = schema
  refuseUncompilable(params)
  return params
}

/** How many answers are asked for. */
export function answersWanted({ n }: Fields): number {
  if (n === 0) throw new Refused('range() arg 3 must not be zero', 400, 'BadRequest')
  return typeof n === 'number' ? Math.max(1, Math.trunc(n)) : 1
}

/** `base:adapter` asks for an adapter, which no simulated engine has. From 0.5.23 on the served name may have a colon. */
export function refuseAdapter({ options }: Engine, model: string): void {
  const at = model.indexOf(':')
  if (at < 0 || (options.compat === '0.5.23' && model === options.modelId)) return
  const adapter = model.slice(at + 1).trim()
  if (adapter === '') return
  throw new Refused(
    `LoRA adapter '${adapter}' was requested, but LoRA is not enabled. Please launch the server with --enable-lora flag and preload adapters using --lora-paths or /load_lora_adapter endpoint.`,
  )
}

const isThere = (value: unknown) => value !== undefined && value !== null

/** Numbers that came as strings become numbers where they can. */
function coerced(fields: Fields): Fields {
  const findings: string[] = []
  const entries = [...floatFields, ...wholeFields].flatMap((name) => {
    const value = fields[name]
    if (!isThere(value) || typeof value === 'number') return []
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
    if (!Number.isNaN(number)) return [[name, number] as const]
    findings.push(notANumber(name, value))
    return []
  })
  if (findings.length > 0) throw new Invalid(findings)
  return { ...fields, ...Object.fromEntries(entries) }
}

function notANumber(name: string, value: unknown): string {
  const isFloat = floatFields.includes(name)
  const kind = isFloat ? 'float' : 'int'
  const what = isFloat ? 'number' : 'integer'
  const isString = typeof value === 'string'
  const type = isString ? `${kind}_parsing` : `${kind}_type`
  const message = `Input should be a valid ${what}${isString ? `, unable to parse string as ${isFloat ? 'a number' : 'an integer'}` : ''}`
  return `{'type': '${type}', 'loc': ('body', ${pythonString(name)}), 'msg': ${pythonString(message)}, 'input': ${pythonRepr(value)}}`
}

function schemaOf(format: unknown): string | undefined {
  if (!isFields(format)) return undefined
  if (format.type === 'json_object') return '{"type":"object"}'
  if (format.type !== 'json_schema' || !isFields(format.json_schema)) return undefined
  return JSON.stringify(format.json_schema.schema ?? {})
}
