import type { ResolvedOptions } from '../options.ts'
import { lengthFrom } from '../scheduling/lengths.ts'
import { hashOf } from '../scheduling/random.ts'
import { type AnswerRequest, type AnswerWriter, promptName, type Thinking } from '../text/answer.ts'
import { Refused } from './errors.ts'
import type { Plan } from './generation.ts'
import { plainestValue } from './grammar.ts'
import type { Sampling } from './sampling.ts'

/** Tokens of a prompt's end that show whether the template switched thinking on or off. */
const tailTokens = 24

/** Throws `Refused` for a prompt that leaves no room. */
export function refuseTooLong(promptTokens: number, maxNewTokens: unknown, contextLength: number): void {
  if (promptTokens >= contextLength) {
    throw new Refused(
      `The input (${promptTokens} tokens) is longer than the model's context length (${contextLength} tokens).`,
    )
  }
  if (typeof maxNewTokens !== 'number' || promptTokens + maxNewTokens <= contextLength) return
  // Python's whole numbers have no end, and clients do send 2^64.
  const asked = BigInt(Math.trunc(maxNewTokens))
  throw new Refused(
    `Requested token count exceeds the model's maximum context length of ${contextLength} tokens. You requested a total of ${
      asked + BigInt(promptTokens)
    } tokens: ${promptTokens} tokens from the input messages and ${asked} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`,
  )
}

/** Tokens of a prompt that the scheduler takes, at most less one. */
export function promptRoom({ contextLength, kvTokens }: ResolvedOptions): number {
  return Math.min(contextLength, kvTokens) - 6
}

/** Throws `Refused` for a prompt that the scheduler has no room for, whatever its answer. */
export function refuseUnschedulable(promptTokens: number, options: ResolvedOptions): void {
  const room = promptRoom(options)
  if (promptTokens < room) return
  throw new Refused(
    `Input length (${promptTokens} tokens) exceeds the maximum allowed length (${room} tokens). Use a shorter input or enable --allow-auto-truncate.`,
  )
}

/** Decides what the answer to a prompt will be, and where it stops. */
export function planAnswer(
  promptIds: readonly number[],
  sampling: Sampling,
  limit: number,
  options: ResolvedOptions,
  writer: AnswerWriter,
): Plan {
  const seed = hashOf(promptIds, options.seed)
  const name = promptName(promptIds)
  const thinking = thinkingOf(promptIds, options)
  const drawn = lengthFrom(options.lengths, seed) - 1
  const naturalTokens = Math.max(drawn, writer.shortest({ name, thinking }), sampling.minNewTokens - 1)
  const answer: AnswerRequest = { name, seed, thinking, naturalTokens }
  if (sampling.jsonSchema !== undefined) return planJson(sampling.jsonSchema, answer, limit, writer)
  const { eosId } = options.tokenizer
  if (sampling.ignoreEos) answer.naturalTokens = limit
  const whole: Plan =
    !sampling.ignoreEos && naturalTokens + 1 <= limit
      ? { answer, tokens: naturalTokens + 1, finish: { type: 'stop', matched: eosId } }
      : { answer, tokens: limit, finish: { type: 'length', length: limit } }
  return stopped(whole, sampling, writer) ?? whole
}

/** An answer that follows a schema says nothing of its prompt. */
function planJson(schema: string, answer: AnswerRequest, limit: number, writer: AnswerWriter): Plan {
  const instead = writer.literal(JSON.stringify(plainestValue(JSON.parse(schema))))
  const tokens = instead.ids.length + 1
  if (tokens <= limit) return { answer, tokens, finish: { type: 'stop', matched: writer.tokenizer.eosId }, instead }
  return { answer, tokens: limit, finish: { type: 'length', length: limit }, instead }
}

/** The engine clips silently what a request may write. */
export function effectiveLimit(promptTokens: number, asked: number | undefined, options: ResolvedOptions): number {
  const maxRequestTokens = Math.min(options.contextLength - 1, options.kvTokens - 1)
  const room = Math.min(maxRequestTokens - promptTokens - 1, options.kvTokens - promptTokens - 2)
  return Math.max(0, Math.min(asked ?? Number.POSITIVE_INFINITY, room))
}

function thinkingOf(promptIds: readonly number[], options: ResolvedOptions): Thinking {
  const tail = options.tokenizer.decode(promptIds.slice(-tailTokens))
  if (tail.trimEnd().endsWith('</think>')) return 'none'
  if (tail.trimEnd().endsWith('<think>')) return 'opened'
  return options.thinking === 'always' || tail.includes(' /think') ? 'written' : 'none'
}

/** Where a stop string, pattern or token ends the answer before its time; undefined where none does. */
function stopped(whole: Plan, sampling: Sampling, writer: AnswerWriter): Plan | undefined {
  const { stop, stopRegex, stopTokenIds } = sampling
  if (stop.length + stopRegex.length + stopTokenIds.length === 0) return undefined
  const { ids, pieces } = writer.write(whole.answer, whole.tokens)
  const text = pieces.join('')
  const found = [
    ...stop.map((matched) => ({ matched, at: text.indexOf(matched), length: matched.length })),
    ...stopRegex.map((pattern) => {
      const match = new RegExp(pattern).exec(text)
      return { matched: pattern, at: match ? match.index : -1, length: match ? match[0].length : 0 }
    }),
  ]
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at + a.length - b.at - b.length)[0]
  const tokenAt = ids.findIndex((id) => stopTokenIds.includes(id))
  const textTokens = found ? tokensFor(pieces, found.at + found.length) : Number.POSITIVE_INFINITY
  if (tokenAt >= 0 && tokenAt + 1 <= textTokens) {
    const matched = ids[tokenAt] ?? 0
    const cutText = pieces.slice(0, tokenAt).join('').length
    return { ...whole, tokens: tokenAt + 1, finish: { type: 'stop', matched }, cutText }
  }
  if (!found) return undefined
  const cutText = sampling.noStopTrim ? found.at + found.length : found.at
  return { ...whole, tokens: textTokens, finish: { type: 'stop', matched: found.matched }, cutText }
}

/** Tokens that reach so far into the text. */
function tokensFor(pieces: readonly string[], characters: number): number {
  let length = 0
  for (let at = 0; at < pieces.length; at++) {
    length += pieces[at]?.length ?? 0
    if (length >= characters) return at + 1
  }
  return pieces.length
}
