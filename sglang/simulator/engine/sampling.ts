import { OutsideContract, Refused, Unhandled } from './errors.ts'

/** SGLang's sampling parameters by their own names, as a client sent them. */
export type SamplingParams = Record<string, unknown>

/** What of them the simulated engine acts on. */
export interface Sampling {
  /** Undefined: as much as there is room for. */
  maxNewTokens: number | undefined
  minNewTokens: number
  stop: string[]
  stopTokenIds: number[]
  stopRegex: string[]
  ignoreEos: boolean
  noStopTrim: boolean
  n: number
  streamInterval: number
  jsonSchema: string | undefined
  regex: string | undefined
}

const knownKeys = new Set(
  `max_new_tokens stop stop_token_ids stop_regex temperature top_p top_k min_p frequency_penalty presence_penalty
repetition_penalty min_new_tokens n json_schema regex ebnf structural_tag ignore_eos skip_special_tokens
spaces_between_special_tokens no_stop_trim custom_params stream_interval logit_bias sampling_seed`.split(/\s+/),
)

/** Whether the request is one that SGLang's own code trips over: up to 0.5.21 an unknown key is such. */
export function unknownKeyOf(params: SamplingParams): string | undefined {
  return Object.keys(params).find((key) => !knownKeys.has(key))
}

export interface SamplingContext {
  vocabSize: number
  /** The OpenAI endpoints turn numbers into floats, and messages show it. */
  hasFloats: boolean
  /** SGLang from 0.5.22 on refuses an unknown key instead of tripping over it, and has limits. */
  hasContract: boolean
}

/** Throws `Refused` in SGLang's words, or `Unhandled`. */
export function resolveSampling(params: SamplingParams, context: SamplingContext): Sampling {
  const unknown = unknownKeyOf(params)
  if (unknown !== undefined) {
    if (context.hasContract) throw new OutsideContract(`Unexpected sampling parameter: ${unknown}`)
    throw new Unhandled(`SamplingParams got an unexpected keyword argument '${unknown}'`)
  }
  if (context.hasContract) refuseTooMany(params)
  const number = (key: string, or: number) => numberOf(params, key, or)
  const shown = (value: number) => (context.hasFloats && Number.isInteger(value) ? `${value}.0` : `${value}`)
  const temperature = number('temperature', 1)
  const isGreedy = temperature >= 0 && temperature < 1e-6
  const topK = isGreedy ? 1 : number('top_k', -1)
  const maxNewTokens = params.max_new_tokens === null ? undefined : number('max_new_tokens', 128)
  const minNewTokens = number('min_new_tokens', 0)
  const ranges: [boolean, string][] = [
    [temperature >= 0, `temperature must be non-negative, got ${shown(temperature)}.`],
    [
      within(number('top_p', 1), 0, 1) && number('top_p', 1) > 0,
      `top_p must be in (0, 1], got ${shown(number('top_p', 1))}.`,
    ],
    [within(number('min_p', 0), 0, 1), `min_p must be in [0, 1], got ${shown(number('min_p', 0))}.`],
    [topK === -1 || topK >= 1, `top_k must be -1 (disable) or at least 1, got ${topK}.`],
    ...(['frequency_penalty', 'presence_penalty'] as const).map((key): [boolean, string] => [
      within(number(key, 0), -2, 2),
      `${key} must be in [-2, 2], got ${shown(number(key, 0))}.`,
    ]),
    [
      within(number('repetition_penalty', 1), 0, 2),
      `repetition_penalty must be in [0, 2], got ${shown(number('repetition_penalty', 1))}.`,
    ],
    [minNewTokens >= 0, `min_new_tokens must be in [0, max_new_tokens], got ${minNewTokens}.`],
    [maxNewTokens === undefined || maxNewTokens >= 0, `max_new_tokens must be at least 0, got ${maxNewTokens}.`],
    [
      maxNewTokens === undefined || minNewTokens <= maxNewTokens,
      `min_new_tokens must be in [0, max_new_tokens(${maxNewTokens})], got ${minNewTokens}.`,
    ],
  ]
  for (const [holds, message] of ranges) if (!holds) throw new Refused(message)
  refuseBiasOutside(params.logit_bias, context.vocabSize)
  const grammars = ['regex', 'json_schema', 'ebnf'].filter((key) => isSet(params[key]))
  if (grammars.length > 1) throw new Refused('Only one of regex, json_schema, or ebnf can be set.')
  return {
    maxNewTokens,
    minNewTokens,
    stop: strings(params.stop),
    stopTokenIds: Array.isArray(params.stop_token_ids) ? params.stop_token_ids.filter(Number.isInteger) : [],
    stopRegex: strings(params.stop_regex),
    ignoreEos: params.ignore_eos === true,
    noStopTrim: params.no_stop_trim === true,
    n: number('n', 1),
    streamInterval: Math.max(1, number('stream_interval', 1)),
    jsonSchema: typeof params.json_schema === 'string' ? params.json_schema : undefined,
    regex: typeof params.regex === 'string' ? params.regex : undefined,
  }
}

/** Stop strings and stop patterns of one request at most, from 0.5.23 on. */
const mostStops = 32

function refuseTooMany(params: SamplingParams): void {
  for (const key of ['stop', 'stop_regex']) {
    const count = strings(params[key]).length
    if (count > mostStops) throw new OutsideContract(`${key} must have at most ${mostStops} items, got ${count}.`)
  }
}

const isSet = (value: unknown) => value !== undefined && value !== null
const within = (value: number, least: number, most: number) => value >= least && value <= most

function numberOf(params: SamplingParams, key: string, or: number): number {
  const value = params[key]
  if (!isSet(value)) return or
  if (typeof value === 'number') return value
  throw new Unhandled(`'<' not supported between instances of '${typeof value}' and 'float'`)
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
}

function refuseBiasOutside(bias: unknown, vocabSize: number): void {
  if (typeof bias !== 'object' || bias === null) return
  for (const id of Object.keys(bias)) {
    if (!within(Number(id), 0, vocabSize - 1)) {
      throw new Refused(`logit_bias must has keys in [0, ${vocabSize - 1}], got ${id}.`)
    }
  }
}
