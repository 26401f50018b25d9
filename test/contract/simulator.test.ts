import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SimulatedEngine, startSimulatedEngine } from '../../sglang/simulator/simulated-engine.ts'
import { StubTokenizer } from '../../sglang/simulator/text/stub-tokenizer.ts'
import { ask, eventsOf } from './simulator/ask.ts'
import { comparableMessage, finishReasons, shapeDifferences } from './simulator/shape.ts'
import { exchangeOf, type RecordedReply, transcriptNames, transcriptText } from './simulator/transcript.ts'

/** Recordings that are not replayed here, and why. */
const notReplayed: Record<string, string> = {
  '09-server_info': 'compared below: the real one dumps 386 flags, the simulated one those that say something',
  '10-metrics': 'compared below by the names of the metrics: numbers and labels of processes are no contract',
  '96-responses': 'an API that Longhaul never calls',
  '97-messages_anthropic': 'an API that Longhaul never calls',
  '200-native-mode': 'replayed below: it has four exchanges',
  'disconnect-nonstream-close': 'a course of events, replayed in simulator-timelines.test.ts',
  'disconnect-nonstream-close-_generate': 'a course of events, replayed in simulator-timelines.test.ts',
  'disconnect-stream-close': 'a course of events, replayed in simulator-timelines.test.ts',
  'disconnect-stream-close-_generate': 'a course of events, replayed in simulator-timelines.test.ts',
  'disconnect-stream-rst': 'a course of events, replayed in simulator-timelines.test.ts',
  'disconnect-stream-shutwr': 'a course of events, replayed in simulator-timelines.test.ts',
  'queue-full-max-running-2-max-queued-2': 'a course of events, replayed in simulator-timelines.test.ts',
  'sigkill-scheduler-timeline': 'a course of events, replayed in simulator-timelines.test.ts',
  'sigterm-timeline': 'a course of events, replayed in simulator-timelines.test.ts',
}

/** As the server was that answered in the recordings. */
const asRecorded = {
  modelId: 'smollm2',
  compat: '0.5.12',
  version: '0.5.12.post1',
  contextLength: 8_192,
  kvTokens: 16_384,
  cap: 8,
  metrics: true,
  cachePageTokens: 1,
  timeScale: 0,
  // As large a vocabulary as the recorded model's.
  tokenizer: Object.assign(new StubTokenizer(), { vocabSize: 49_152 }),
  edge: { healthMs: 10 },
} as const

let engine: SimulatedEngine
beforeAll(async () => {
  engine = await startSimulatedEngine({ ...asRecorded, lengths: { meanTokens: 1_000, sigma: 0 } })
})
afterAll(() => engine.close())

describe('a simulated engine answers as the recorded server did', () => {
  for (const name of transcriptNames()) {
    if (name in notReplayed) continue
    it(name, async () => {
      const exchange = exchangeOf(name)
      const reply = await ask(engine.url, exchange)
      expect(reply.status).toBe(exchange.reply.status)
      compareHeaders(exchange.reply, reply)
      const isStream = exchange.reply.headers['content-type']?.startsWith('text/event-stream')
      if (isStream) compareEvents(eventsOf(exchange.reply.body), eventsOf(reply.body))
      else compareBodies(exchange.reply, reply)
    })
  }

  it('to each step of native mode: the ids of a rendered chat generate what the chat endpoint says', async () => {
    const tokenizer = new StubTokenizer()
    const short = await startSimulatedEngine({ ...asRecorded, tokenizer, lengths: { meanTokens: 27, sigma: 0 } })
    try {
      const recorded = nativeExchanges()
      const replies: Record<string, unknown>[] = []
      for (const { path, request } of recorded) {
        const earlier = replies[0] as { tokens?: number[] } | undefined
        const body = path === '/generate' ? { ...request, input_ids: earlier?.tokens } : request
        const reply = await ask(short.url, {
          path,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        expect(reply.status).toBe(200)
        replies.push(JSON.parse(reply.body))
      }
      recorded.forEach(({ response }, at) => {
        expect(shapeDifferences(response, replies[at])).toEqual([])
        expect(finishReasons(replies[at])).toEqual(finishReasons(response))
      })
      const [, , generated, chatted] = replies as [unknown, unknown, Generated, Chatted]
      expect(generated.text).toBe(chatted.choices[0]?.message.content)
      expect(generated.output_ids.at(-1)).toBe(generated.meta_info.finish_reason.matched)
      expect(generated.output_ids.length).toBe(generated.meta_info.completion_tokens)
      expect(chatted.usage.completion_tokens).toBe(generated.meta_info.completion_tokens)
    } finally {
      await short.close()
    }
  })

  it('09-server_info: what it says of itself has the types of the real one, and nothing made up', async () => {
    const { body } = await ask(engine.url, { path: '/server_info' })
    const { simulated, ...said } = JSON.parse(body)
    const real = JSON.parse(exchangeOf('09-server_info').reply.body)
    expect(simulated).toBe(true)
    const differences = shapeDifferences(real, said).filter((line) => !line.endsWith('not here'))
    expect(differences).toEqual([])
    expect(said.version).toBe(real.version)
    expect(said.status).toBe(real.status)
    const state = 'effective_max_running_requests_per_dp'
    expect(said.internal_states[0][state]).toBe(real.internal_states[0][state])
  })

  it('10-metrics: every metric is one of the real ones, the main ones among them', async () => {
    const { status, headers, body } = await ask(engine.url, { path: '/metrics' })
    const real = exchangeOf('10-metrics').reply
    expect(status).toBe(200)
    expect(headers['content-type']).toBe(real.headers['content-type'])
    const names = (text: string) => new Set([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name))
    const [ours, theirs] = [names(body), names(real.body)]
    // A counter that has not counted yet is not shown by the real one.
    const late = ['sglang:num_retracted_requests_total', 'sglang:num_aborted_requests_total']
    expect([...ours].filter((name) => !theirs.has(name) && !late.includes(name ?? ''))).toEqual([])
    for (const name of ['num_running_reqs', 'num_queue_reqs', 'gen_throughput', 'generation_tokens_total']) {
      expect(ours.has(`sglang:${name}`)).toBe(true)
    }
  })

  it('has a reason for every recording that it does not replay', () => {
    const names = transcriptNames()
    expect(Object.keys(notReplayed).filter((name) => !names.includes(name))).toEqual([])
    expect(names.length).toBeGreaterThan(100)
  })
})

function compareHeaders(real: RecordedReply, simulated: RecordedReply): void {
  const uncompared = new Set(['date', 'vary', 'content-length', 'transfer-encoding'])
  const compared = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !uncompared.has(name)))
  const { connection, ...headers } = simulated.headers
  // A client that asks for no reuse is told so by Node.
  expect(connection === undefined || connection === 'close').toBe(true)
  expect(compared(headers)).toEqual(compared(real.headers))
  expect('content-length' in simulated.headers).toBe('content-length' in real.headers)
}

function compareBodies(real: RecordedReply, simulated: RecordedReply): void {
  if (!real.headers['content-type']?.startsWith('application/json')) {
    expect(simulated.body).toBe(real.body)
    return
  }
  compareJson(JSON.parse(real.body), JSON.parse(simulated.body))
}

function compareEvents(real: string[], simulated: string[]): void {
  expect(simulated.length).toBe(real.length)
  real.forEach((event, at) => {
    const other = simulated[at] ?? ''
    if (event === '[DONE]') expect(other).toBe('[DONE]')
    else compareJson(JSON.parse(event), JSON.parse(other))
  })
}

function compareJson(real: unknown, simulated: unknown): void {
  expect(shapeDifferences(real, simulated)).toEqual([])
  expect(comparableMessage(simulated)).toBe(comparableMessage(real))
  expect(finishReasons(simulated)).toEqual(finishReasons(real))
}

interface Generated {
  text: string
  output_ids: number[]
  meta_info: { finish_reason: { matched: number }; completion_tokens: number }
}

interface Chatted {
  choices: { message: { content: string } }[]
  usage: { completion_tokens: number }
}

/** The recorded sequence, each request with its path and its reply. */
function nativeExchanges(): { path: string; request: Record<string, unknown>; response: unknown }[] {
  let path = ''
  let request = ''
  const exchanges: { path: string; request: Record<string, unknown>; response: unknown }[] = []
  for (const line of transcriptText('200-native-mode').split('\n')) {
    if (line.startsWith('# $')) path = /http:\/\/127\.0\.0\.1:\d+(\S+)/.exec(line)?.[1] ?? ''
    else if (line.startsWith('# request body: ')) request = line.slice('# request body: '.length)
    else if (line.startsWith('{')) exchanges.push({ path, request: JSON.parse(request), response: JSON.parse(line) })
  }
  return exchanges
}
