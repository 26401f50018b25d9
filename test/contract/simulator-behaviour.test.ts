import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type SimulatedEngine,
  type SimulatedEngineOptions,
  startSimulatedEngine,
} from '../../sglang/simulator/simulated-engine.ts'
import { promptName } from '../../sglang/simulator/text/answer.ts'
import { StubTokenizer } from '../../sglang/simulator/text/stub-tokenizer.ts'
import { ask, askJson, eventsOf } from './simulator/ask.ts'
import { eventually } from './simulator/eventually.ts'

const started: SimulatedEngine[] = []
afterEach(() => Promise.all(started.splice(0).map((engine) => engine.close())))

async function start(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const engine = await startSimulatedEngine({
    timeScale: 0,
    edge: { healthMs: 5 },
    lengths: { meanTokens: 200 },
    ...options,
  })
  started.push(engine)
  return engine
}

/** The body of a reply with status 200. */
async function asked(engine: SimulatedEngine, path: string, body: unknown) {
  const reply = await askJson(engine.url, path, body)
  expect(reply.status).toBe(200)
  return JSON.parse(reply.body)
}

const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'What is a prime?' },
]

describe('native mode and chat', () => {
  for (const enable_thinking of [undefined, true, false]) {
    it(`say the same for the same conversation, with enable_thinking ${enable_thinking}`, async () => {
      const engine = await start()
      const kwargs = { chat_template_kwargs: { enable_thinking } }
      const { tokens, count } = await asked(engine, '/tokenize', { messages, ...kwargs })
      const sampling_params = { max_new_tokens: 4_000 }
      const generated = await asked(engine, '/generate', { input_ids: tokens, sampling_params })
      const chatted = await asked(engine, '/v1/chat/completions', { messages, max_tokens: 4_000, ...kwargs })
      expect(chatted.choices[0].message.content).toBe(generated.text)
      expect(chatted.usage.prompt_tokens).toBe(count)
      expect(generated.text.startsWith('<think>')).toBe(enable_thinking === true)
      expect(generated.text).toContain(promptName(tokens))
      const { tokenizer } = { tokenizer: new StubTokenizer() }
      expect(generated.output_ids.at(-1)).toBe(tokenizer.eosId)
      expect(tokenizer.decode(generated.output_ids.slice(0, -1))).toBe(generated.text)
      expect(generated.meta_info.completion_tokens).toBe(generated.output_ids.length)
    })
  }

  it('are told from /detokenize where the template opens the thinking itself', async () => {
    const engine = await start({ tokenizer: new StubTokenizer(true) })
    const kwargs = { chat_template_kwargs: { enable_thinking: true } }
    const { tokens } = await asked(engine, '/tokenize', { messages, ...kwargs })
    const { text } = await asked(engine, '/detokenize', { tokens: tokens.slice(-8), skip_special_tokens: false })
    expect(text.trimEnd().endsWith('<think>')).toBe(true)
    const generated = await asked(engine, '/generate', {
      input_ids: tokens,
      sampling_params: { max_new_tokens: 4_000 },
    })
    expect(generated.text).toMatch(/^To prompt \w+:.*\n<\/think>\n\nTo prompt/s)
  })

  it('separate the thinking with a reasoning parser, in one piece and in a stream', async () => {
    const engine = await start({ reasoningParser: true })
    const body = { messages, max_tokens: 4_000, chat_template_kwargs: { enable_thinking: true } }
    const { choices, usage } = await asked(engine, '/v1/chat/completions', body)
    const { content, reasoning_content } = choices[0].message
    expect(content + reasoning_content).not.toContain('think>')
    expect(usage.reasoning_tokens).toBeGreaterThan(50)
    expect(usage.reasoning_tokens).toBeLessThan(usage.completion_tokens)
    const streamed = await askJson(engine.url, '/v1/chat/completions', { ...body, stream: true })
    const deltas = eventsOf(streamed.body)
      .slice(0, -1)
      .map((event) => JSON.parse(event).choices[0].delta)
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe(content)
    expect(deltas.map((delta) => delta.reasoning_content ?? '').join('')).toBe(reasoning_content)
  })

  it('stream the same text as they give in one piece', async () => {
    const engine = await start()
    const body = { text: 'Tell me', sampling_params: { max_new_tokens: 150 } }
    const { text, output_ids } = await asked(engine, '/generate', body)
    const events = eventsOf((await askJson(engine.url, '/generate', { ...body, stream: true })).body)
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ text, output_ids })
  })
})

describe('an answer', () => {
  it('stops at a stop string, without it unless asked otherwise', async () => {
    const engine = await start()
    const whole = await asked(engine, '/generate', { text: 'Go', sampling_params: { max_new_tokens: 400 } })
    const stop = whole.text.slice(60, 68)
    const params = { max_new_tokens: 400, stop }
    const trimmed = await asked(engine, '/generate', { text: 'Go', sampling_params: params })
    expect(trimmed.text).toBe(whole.text.slice(0, whole.text.indexOf(stop)))
    expect(trimmed.meta_info.finish_reason).toEqual({ type: 'stop', matched: stop })
    const kept = await asked(engine, '/generate', { text: 'Go', sampling_params: { ...params, no_stop_trim: true } })
    expect(kept.text).toBe(trimmed.text + stop)
    expect(whole.output_ids.slice(0, kept.output_ids.length)).toEqual(kept.output_ids)
  })

  it('is cut at max_new_tokens, and clipped to the context without a word', async () => {
    const engine = await start({ contextLength: 100, lengths: { meanTokens: 1_000, sigma: 0 } })
    const text = 'x'.repeat(40)
    const cut = await asked(engine, '/generate', { text, sampling_params: { max_new_tokens: 20 } })
    expect(cut.meta_info.finish_reason).toEqual({ type: 'length', length: 20 })
    const clipped = await asked(engine, '/v1/chat/completions', { messages: [{ role: 'user', content: text }] })
    expect(clipped.choices[0].finish_reason).toBe('length')
    expect(clipped.usage.total_tokens).toBe(98)
  })

  it('is refused to a prompt of unknown ids, all of which the refusal repeats', async () => {
    const engine = await start()
    const { vocabSize } = new StubTokenizer()
    const reply = await askJson(engine.url, '/generate', { input_ids: [5, vocabSize] })
    expect(reply.status).toBe(400)
    expect(JSON.parse(reply.body).error.message).toBe(
      `The input_ids [5, ${vocabSize}] contains values greater than the vocab size (${vocabSize}).`,
    )
  })

  for (const [limit, options] of Object.entries({
    'the context but for 6 tokens': { contextLength: 100 },
    'the memory but for 6 tokens': { kvTokens: 100 },
  })) {
    it(`is refused to a prompt that fills ${limit}, whose id stays free`, async () => {
      const engine = await start(options)
      const send = (tokens: number) =>
        askJson(engine.url, '/generate', {
          rid: 'r',
          input_ids: Array.from({ length: tokens }, () => 5),
          sampling_params: { max_new_tokens: 4 },
        })
      const refused = await send(94)
      expect(refused.status).toBe(400)
      expect(JSON.parse(refused.body).error.message).toBe(
        'Input length (94 tokens) exceeds the maximum allowed length (94 tokens). Use a shorter input or enable --allow-auto-truncate.',
      )
      expect((await send(93)).status).toBe(200)
    })
  }

  it('follows a simple JSON schema', async () => {
    const engine = await start()
    const json_schema = JSON.stringify({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] })
    const { text } = await asked(engine, '/generate', { text: 'x', sampling_params: { json_schema } })
    expect(JSON.parse(text)).toEqual({ a: 0 })
  })
})

describe('control', () => {
  const endless = { max_new_tokens: 20_000, ignore_eos: true }
  const slow = { timeScale: 1, serviceModel: { t0Ms: 5, aMs: 0, bNs: 0, eta: 1 } }

  it('gives up every request whose id begins as asked, and tells so with status 200', async () => {
    const engine = await start({ ...slow, cap: 2 })
    const send = (rid: string) => askJson(engine.url, '/generate', { rid, text: rid, sampling_params: endless })
    const replies = [send('job-1'), send('job-10'), send('job-12'), send('other')]
    await eventually(() => engine.stats().running + engine.stats().waiting).toBe(4)
    expect((await askJson(engine.url, '/abort_request', { rid: 'job-1' })).status).toBe(200)
    const aborted = (await Promise.all(replies.slice(0, 3))).map((reply) => JSON.parse(reply.body).meta_info)
    expect(aborted.map((meta) => meta.finish_reason.type)).toEqual(['abort', 'abort', 'abort'])
    expect(aborted.filter((meta) => meta.finish_reason.message === 'Abort in waiting queue')[0]).not.toHaveProperty(
      'prompt_tokens',
    )
    await eventually(() => engine.stats().running).toBe(1)
    await askJson(engine.url, '/abort_request', { abort_all: true })
    expect(JSON.parse((await replies[3])?.body ?? '').meta_info.finish_reason.type).toBe('abort')
  })

  it('refuses a request id that is in use', async () => {
    const engine = await start(slow)
    const send = () => askJson(engine.url, '/generate', { rid: 'same', text: 'x', sampling_params: endless })
    const first = send()
    await eventually(() => engine.stats().running).toBe(1)
    const second = await send()
    expect(second.status).toBe(400)
    expect(JSON.parse(second.body).error.message).toBe('Duplicate request ID detected: same')
    await askJson(engine.url, '/abort_request', { rid: 'same' })
    await first
  })

  it('pauses and goes on, flushes only when idle, and slows down', async () => {
    const engine = await start({ ...slow, timeScale: 0.01 })
    expect(await asked(engine, '/pause_generation', { mode: 'in_place' })).toMatchObject({ status: 'ok' })
    const reply = askJson(engine.url, '/generate', { text: 'x', sampling_params: { max_new_tokens: 3 } })
    await eventually(() => engine.stats().waiting + engine.stats().running).toBe(1)
    expect((await ask(engine.url, { method: 'POST', path: '/flush_cache' })).status).toBe(400)
    expect((await askJson(engine.url, '/slow_down', { forward_sleep_time: 2 })).status).toBe(200)
    await asked(engine, '/continue_generation', {})
    const { meta_info } = JSON.parse((await reply).body)
    expect(meta_info.e2e_latency).toBeGreaterThan(4)
    expect((await ask(engine.url, { path: '/flush_cache' })).status).toBe(200)
  })

  it('asks for its key everywhere but on /health, and for the admin key where there is one', async () => {
    const engine = await start({ apiKey: 'one', adminApiKey: 'two' })
    const status = async (path: string, key?: string) => {
      const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
      return (await ask(engine.url, { path, headers, ...(path === '/abort_request' && { body: '{"rid":"x"}' }) }))
        .status
    }
    expect(await status('/model_info')).toBe(401)
    expect(await status('/model_info', 'one')).toBe(200)
    expect(await status('/abort_request', 'one')).toBe(401)
    expect(await status('/abort_request', 'two')).toBe(200)
    expect(await status('/health')).toBe(200)
    expect((await ask(engine.url, { path: '/v1/loads' })).body).toBe('{"error":"Unauthorized"}')
  })
})

describe('versions', () => {
  const statusOf = async (compat: '0.5.12' | '0.5.14' | '0.5.23', path: string) =>
    (await ask((await start({ compat })).url, { path })).status

  it('have the endpoints of their time', async () => {
    expect([await statusOf('0.5.12', '/ready'), await statusOf('0.5.23', '/ready')]).toEqual([404, 200])
    expect([await statusOf('0.5.12', '/get_load'), await statusOf('0.5.23', '/get_load')]).toEqual([200, 404])
  })

  it('treat an unknown sampling parameter, a leaked id and a colon in the model name as they did', async () => {
    const of = async (compat: '0.5.12' | '0.5.14' | '0.5.23') => {
      const engine = await start({ compat, modelId: 'qwen:27b' })
      const wrong = await askJson(engine.url, '/generate', { rid: 'r', text: 'x', sampling_params: { foo: 1 } })
      const again = await askJson(engine.url, '/generate', { rid: 'r', text: 'x', sampling_params: {} })
      const colon = await askJson(engine.url, '/v1/chat/completions', { model: 'qwen:27b', messages, max_tokens: 3 })
      return [wrong.status, again.status, colon.status]
    }
    expect(await of('0.5.12')).toEqual([500, 400, 400])
    expect(await of('0.5.14')).toEqual([500, 200, 400])
    expect(await of('0.5.23')).toEqual([400, 200, 200])
  })

  it('tell the load with or without the sum, and the message with or without empty tool calls', async () => {
    const [older, newer] = [await start(), await start({ compat: '0.5.23' })]
    const loads = async (engine: SimulatedEngine) => JSON.parse((await ask(engine.url, { path: '/v1/loads' })).body)
    expect(await loads(older)).toHaveProperty('aggregate')
    expect(await loads(newer)).not.toHaveProperty('aggregate')
    const message = async (engine: SimulatedEngine) =>
      (await asked(engine, '/v1/chat/completions', { messages, max_tokens: 3 })).choices[0].message
    expect(await message(older)).toHaveProperty('tool_calls')
    expect(await message(newer)).not.toHaveProperty('tool_calls')
  })
})

describe('the process', () => {
  const main = fileURLToPath(new URL('../../dist/sglang/simulator/main.js', import.meta.url))
  const launch = (...args: string[]) => spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const firstLine = async (child: ReturnType<typeof launch>) => String((await once(child.stdout, 'data'))[0])

  it('says on one line where its engines are, serves, and ends cleanly on SIGTERM', async () => {
    const child = launch('--engines', '3', '--time-scale', '0')
    const { simulated, urls } = JSON.parse(await firstLine(child))
    expect(simulated).toBe(true)
    expect(new Set(urls).size).toBe(3)
    for (const url of urls) expect((await ask(url, { path: '/model_info' })).status).toBe(200)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('says which port is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const { port } = holder.address() as AddressInfo
    const child = launch('--port', String(port))
    const [error] = await once(child.stderr, 'data')
    expect(String(error)).toContain(`port ${port} is taken by another process`)
    expect(await once(child, 'exit')).toEqual([1, null])
    holder.close()
  })

  it('dies with its engine where asked to', async () => {
    const child = launch('--exit-on-crash', '--time-scale', '0')
    const { urls } = JSON.parse(await firstLine(child))
    await askJson(urls[0], '/_sim/fault', { fault: 'F28' }).catch(() => {})
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  })
})
