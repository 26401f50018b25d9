import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import { AttemptFailed } from '../../../sglang/engine-client.ts'
import { EngineHttp, NoReply } from '../../../sglang/http.ts'
import { answered } from '../../../sglang/said.ts'
import { TokenizeRefused } from '../errors.ts'
import type { ModelFiles } from '../model/model-files.ts'
import { readModel } from '../model/read-model.ts'
import type { ReadModel } from '../rows/tokenize-conversation.ts'
import { toValue, type Value } from '../template/values.ts'

interface Probe {
  messages: { role: string; content: string }[]
  kwargs?: Record<string, boolean>
}

const system = { role: 'system', content: 'You are a careful assistant.' }
const question = { role: 'user', content: '  What is 12345 * 678?\n\n' }
const answer = { role: 'assistant', content: 'It is 8,369,910.\n\n```js\nconst x = 1\n```' }
const foreign = { role: 'user', content: '请解释 l’été, naïve 😀 — “quoted” <b>&amp;</b>\t\\n' }

/** Conversations in which templates and tokenizers are known to differ. */
const probes: readonly Probe[] = [
  { messages: [question] },
  { messages: [system, question] },
  { messages: [question, answer, foreign] },
  { messages: [system, question, answer, foreign, answer, question] },
  { messages: [question], kwargs: { enable_thinking: true, thinking: true } },
  { messages: [question, answer, foreign], kwargs: { enable_thinking: false, thinking: false } },
]

const deadlineMs = 60_000

/**
 * Asks a running server for the ids of a few conversations, and holds those of our own against them. Throws
 * `TokenizeRefused` when they differ.
 */
export async function checkServer(
  files: ModelFiles,
  { server, templateKwargs, today }: TokenizeOptions,
  apiKey: string | undefined,
): Promise<void> {
  if (server === undefined) return
  const model = await readModel(files, today)
  const http = new EngineHttp({ url: server, connections: 1, ...(apiKey !== undefined && { apiKey }) })
  try {
    for (const probe of probes) {
      const kwargs = { ...templateKwargs, ...probe.kwargs }
      const body = {
        messages: probe.messages,
        ...(Object.keys(kwargs).length > 0 && { chat_template_kwargs: kwargs }),
      }
      const { tokens } = answered(await http.post('/tokenize', body, { deadlineMs })) as { tokens: number[] }
      await compare(server, probe, kwargs, tokens, model)
    }
  } catch (error) {
    if (!(error instanceof AttemptFailed) && !(error instanceof NoReply)) throw error
    throw new TokenizeRefused(
      `${server} does not say how it tokenizes: ${error.message}. Start it, or leave out \`server\`.`,
      { cause: error },
    )
  } finally {
    await http.close()
  }
}

async function compare(
  server: string,
  { messages }: Probe,
  kwargs: Record<string, unknown>,
  theirs: readonly number[],
  { tokens, template }: ReadModel,
): Promise<void> {
  if (!template) return
  const arguments_ = new Map(Object.entries(kwargs).map(([name, value]): [string, Value] => [name, toValue(value)]))
  const text = template.render(messages.map(toValue), { kwargs: arguments_ }, true)
  const ours = [...(await tokens.encodeByLibrary(text))]
  if (ours.length === theirs.length && ours.every((id, n) => id === theirs[n])) return
  let at = 0
  while (at < ours.length && ours[at] === theirs[at]) at++
  const shown = async (ids: readonly number[]) => JSON.stringify(await tokens.decode(ids.slice(at, at + 8), true))
  throw new TokenizeRefused(
    `${server} tokenizes conversations otherwise than the given tokenizer does: at token ${at} it has ${await shown(theirs)} instead of ${await shown(ours)}. Give the files of the model that it serves.`,
  )
}
