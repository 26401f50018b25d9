import { settingsFor } from '../../../domain/generation.ts'
import type { Prompt } from '../../../domain/prompt.ts'
import type { Spec } from '../../../domain/spec.ts'
import { turnEnds } from '../../../domain/turns.ts'
import type { EngineHttp } from '../../../sglang/http.ts'
import { answered } from '../../../sglang/said.ts'
import { estimator, modelCounter, type TokenCounter } from '../token-count.ts'
import type { PromptCounter } from './prompt-lengths.ts'

/** What a chat template adds to a turn, about: role, marks and line breaks. */
const templateTokensPerTurn = 6

/** Counts by texts: with the model's tokenizer when the spec names its folder, else by an estimate. */
export function textCounter(spec: Spec): PromptCounter {
  const counter: TokenCounter = spec.tokenizer === undefined ? estimator : modelCounter(spec.tokenizer)
  return {
    method: counter.method,
    async counts(prompts) {
      const texts = prompts.map(textsOf)
      const counts = await counter.counts(texts.flat())
      let at = 0
      return texts.map((own) => {
        const tokens = counts.slice(at, at + own.length).reduce((sum, count) => sum + count, 0)
        at += own.length
        return tokens + own.length * templateTokensPerTurn
      })
    },
  }
}

function textsOf({ messages, tools }: Prompt): string[] {
  const texts = messages.map(({ content }) => content)
  return tools ? [...texts, JSON.stringify(tools)] : texts
}

/** The body of the first request that a prompt leads to: the server renders it with its own template. */
export interface FirstRequest {
  messages: Prompt['messages']
  tools?: unknown[]
  chat_template_kwargs?: Record<string, unknown>
}

export function firstRequest(prompt: Prompt, spec: Spec): FirstRequest {
  const { templateKwargs } = settingsFor(prompt, spec)
  return {
    messages: prompt.messages.slice(0, turnEnds(prompt.messages)[0]),
    ...(prompt.tools && { tools: prompt.tools }),
    ...(templateKwargs && { chat_template_kwargs: templateKwargs }),
  }
}

const deadlineMs = 60_000
/** Requests at the same time: the server's tokenizer is one process. */
const concurrency = 8

/** Counts exactly, by a server's `/tokenize`: all turns of the prompt, rendered as the server renders them. */
export function serverCounter(http: EngineHttp, spec: Spec): PromptCounter {
  const count = async (prompt: Prompt) => {
    const body = { ...firstRequest(prompt, spec), messages: prompt.messages }
    const { tokens } = answered(await http.post('/tokenize', body, { deadlineMs })) as { tokens: unknown[] }
    return tokens.length
  }
  return {
    method: 'server',
    async counts(prompts) {
      const counts: number[] = []
      for (let from = 0; from < prompts.length; from += concurrency) {
        counts.push(...(await Promise.all(prompts.slice(from, from + concurrency).map(count))))
      }
      return counts
    },
  }
}

/** The text that the model will read, as the server's template renders it. */
export async function renderedBy(http: EngineHttp, request: FirstRequest): Promise<string> {
  const { tokens } = answered(await http.post('/tokenize', request, { deadlineMs })) as { tokens: number[] }
  const body = { tokens, skip_special_tokens: false }
  const { text } = answered(await http.post('/detokenize', body, { deadlineMs })) as { text: string }
  return text
}
