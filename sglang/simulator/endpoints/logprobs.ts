import type { Generation } from '../engine/generation.ts'
import type { Fields } from '../http/body.ts'
import { mix } from '../scheduling/random.ts'

/** A made-up log-probability that is the same for the same token. */
const logprobOf = (id: number, rank: number) => -((mix(id) % 1_000) / 1_000) - rank

/** What `/generate` adds when asked for log-probabilities. */
export function nativeLogprobs(fields: Fields, generation: Generation, tokens: number): Record<string, unknown> {
  if (fields.return_logprob !== true) return {}
  const most = typeof fields.top_logprobs_num === 'number' ? fields.top_logprobs_num : 0
  const ids = generation.ids(tokens)
  return {
    input_token_logprobs: [],
    output_token_logprobs: ids.map((id) => [logprobOf(id, 0), id, null]),
    output_token_logprobs_length: ids.length,
    ...(most > 0 && {
      input_top_logprobs: [],
      output_top_logprobs: ids.map((id) => ranks(most).map((rank) => [logprobOf(id, rank), id + rank, null])),
    }),
  }
}

/** What the chat endpoint adds when asked for log-probabilities. */
export function chatLogprobs(fields: Fields, generation: Generation): Record<string, unknown> | null {
  if (fields.logprobs !== true) return null
  const most = typeof fields.top_logprobs === 'number' ? fields.top_logprobs : 0
  const { tokenizer } = generation.writer
  const entry = (id: number, rank: number) => {
    const token = tokenizer.decode([id])
    return { token, bytes: [...Buffer.from(token, 'utf8')], logprob: logprobOf(id, rank) }
  }
  const content = generation.ids(generation.job.written).map((id) => ({
    ...entry(id, 0),
    top_logprobs: ranks(most).map((rank) => entry(id, rank)),
  }))
  return { content }
}

const ranks = (count: number) => Array.from({ length: count }, (_, rank) => rank)
