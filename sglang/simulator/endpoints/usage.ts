import type { Engine } from '../engine/engine.ts'
import type { GivenUp } from '../engine/errors.ts'
import type { Generation } from '../engine/generation.ts'

/** The token counts of an OpenAI reply; several answers to one prompt count it once. */
export function usageOf({ options }: Engine, generations: readonly Generation[], prompts = 1): Record<string, unknown> {
  const sum = (of: (generation: Generation) => number) => generations.reduce((total, one) => total + of(one), 0)
  const perPrompt = Math.max(1, generations.length / prompts)
  const promptTokens = sum((one) => one.promptTokens) / perPrompt
  const completionTokens = sum((one) => one.job.written)
  const cachedTokens = sum((one) => one.cachedTokens)
  const reasoningTokens = options.reasoningParser ? sum((one) => one.reasoningTokens(one.job.written)) : 0
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: options.cacheReport && cachedTokens > 0 ? { cached_tokens: cachedTokens } : null,
    reasoning_tokens: reasoningTokens,
    ...(options.compat === '0.5.23' && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}

/** An error within a stream, with the blanks and the name of the status that Python gives it. */
export function streamedError({ message, status }: GivenUp): string {
  const type = status === 503 ? 'SERVICE_UNAVAILABLE' : status === 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST'
  return `{"error": {"object": "error", "message": ${JSON.stringify(message)}, "type": "${type}", "param": null, "code": ${status}}}`
}
