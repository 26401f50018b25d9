import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type SimulatedEngine,
  type SimulatedEngineOptions,
  startSimulatedEngine,
} from '../../sglang/simulator/simulated-engine.ts'
import { ask, askJson, eventsOf } from './simulator/ask.ts'
import { eventually } from './simulator/eventually.ts'
import { transcriptText } from './simulator/transcript.ts'

/** The courses of events that were recorded around a request, with the server's waiting times cut to a twentieth. */
const quick = { healthMs: 50, healthTimeoutMs: 1_000, disconnectPollMs: 200, streamDisconnectMs: 100, drainPollMs: 20 }

/** Writes a token every 10 ms: slow enough to leave it in the middle. */
const steady = { t0Ms: 10, aMs: 0, bNs: 0, eta: 1, prefillFixedMs: 1 }

const started: SimulatedEngine[] = []
afterEach(() => Promise.all(started.splice(0).map((engine) => engine.close())))

async function start(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const engine = await startSimulatedEngine({
    modelId: 'smollm2',
    contextLength: 8_192,
    serviceModel: steady,
    edge: quick,
    ...options,
  })
  started.push(engine)
  return engine
}

describe('a client that leaves', () => {
  const cases = {
    'disconnect-nonstream-close': { path: '/v1/chat/completions', leave: (socket: Socket) => socket.destroy() },
    'disconnect-nonstream-close-_generate': { path: '/generate', leave: (socket: Socket) => socket.destroy() },
    'disconnect-stream-close': { path: '/v1/chat/completions', leave: (socket: Socket) => socket.destroy() },
    'disconnect-stream-close-_generate': { path: '/generate', leave: (socket: Socket) => socket.destroy() },
    'disconnect-stream-rst': { path: '/v1/chat/completions', leave: (socket: Socket) => socket.resetAndDestroy() },
    'disconnect-stream-shutwr': { path: '/v1/chat/completions', leave: (socket: Socket) => socket.end() },
  }
  for (const [name, { path, leave }] of Object.entries(cases)) {
    it(`${name}: is noticed after a while, and its request given up`, async () => {
      const engine = await start()
      const body = sentIn(name)[0] ?? ''
      const isStream = JSON.parse(body).stream === true
      const socket = connect(engine.port)
      let received = ''
      socket.on('data', (data) => {
        received += data
      })
      socket.on('error', () => {})
      socket.write(postOf(path, body))
      await eventually(() => engine.stats().running).toBe(1)
      if (isStream) await eventually(() => received).toContain('data: {')
      else expect(received).toBe('')

      const leftMs = performance.now()
      leave(socket)
      expect(engine.stats().running).toBe(1)
      await eventually(() => engine.stats().running).toBe(0)
      expect(engine.stats().aborted).toBe(1)
      if (isStream) expect(performance.now() - leftMs).toBeGreaterThan(quick.streamDisconnectMs - 5)
      expect(received).not.toContain('[DONE]')
    })
  }
})

it('queue-full-max-running-2-max-queued-2: turns the fifth request away, a stream by an event', async () => {
  const engine = await start({ cap: 2, maxQueued: 2 })
  const recorded = transcriptText('queue-full-max-running-2-max-queued-2')
  const chat = (stream: boolean) =>
    askJson(engine.url, '/v1/chat/completions', {
      messages: [{ role: 'user', content: 'A poem' }],
      max_tokens: 60,
      stream,
    })
  const first = []
  for (let at = 0; at < 4; at++) {
    first.push(chat(at % 2 === 1))
    await eventually(() => engine.stats().running + engine.stats().waiting).toBe(at + 1)
  }
  const [plain, streamed] = await Promise.all([chat(false), chat(true)])
  expect(plain.status).toBe(503)
  expect(recorded).toContain(plain.body)
  expect(streamed.status).toBe(200)
  expect(eventsOf(streamed.body).at(-1)).toBe('[DONE]')
  expect(recorded).toContain(`data: ${eventsOf(streamed.body)[0]}\n`)
  for (const reply of await Promise.all(first)) expect(reply.status).toBe(200)
})

it('sigkill-scheduler-timeline: a crash cuts streams without [DONE], gives plain requests no byte, and closes the port', async () => {
  const engine = await start()
  const [streamBody = '', plainBody = ''] = sentIn('sigkill-scheduler-timeline')
  const [stream, plain] = [streamBody, plainBody].map((body) => watch(engine, '/v1/chat/completions', body))
  await eventually(() => stream?.received()).toContain('data: {')
  await eventually(() => engine.stats().running).toBe(2)
  engine.crash(60_000)
  await Promise.all([stream?.ended, plain?.ended])
  expect(stream?.received()).not.toContain('[DONE]')
  expect(plain?.received()).toBe('')
  await expect(ask(engine.url, { path: '/health' })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

it('sigterm-timeline: a drain says 503 on /health, serves old and new requests, and then ends', async () => {
  const engine = await start()
  const [plainBody = '', streamBody = ''] = sentIn('sigterm-timeline')
  const [plain, stream] = [plainBody, streamBody].map((body) => watch(engine, '/v1/chat/completions', body))
  await eventually(() => engine.stats().running).toBe(2)
  const drained = engine.drain()
  expect((await ask(engine.url, { path: '/health' })).status).toBe(503)
  expect((await ask(engine.url, { path: '/v1/models' })).status).toBe(200)
  const late = await askJson(engine.url, '/v1/chat/completions', {
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 4,
  })
  expect(late.status).toBe(200)
  await drained
  await Promise.all([stream?.ended, plain?.ended])
  expect(stream?.received()).toContain('data: [DONE]\n\n')
  expect(plain?.received()).toContain('"finish_reason":"length"')
  await expect(ask(engine.url, { path: '/health' })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

it('sigterm-timeline: after one refused request a drain never ends, up to 0.5.13', async () => {
  const refused = { text: 'A', sampling_params: { temperature: -1 } }
  const old = await start()
  expect((await askJson(old.url, '/generate', refused)).status).toBe(400)
  const oldDrain = old.drain().then(() => 'over')
  const newer = await start({ compat: '0.5.14' })
  expect((await askJson(newer.url, '/generate', refused)).status).toBe(400)
  const newDrain = newer.drain().then(() => 'over, too')
  expect(await Promise.race([oldDrain, newDrain])).toBe('over, too')
})

describe('a connection', () => {
  it('is kept without a word about it, and closed after the idle time', async () => {
    const engine = await start({ timeScale: 0, edge: { ...quick, idleMs: 300 } })
    const socket = connect(engine.port)
    let received = ''
    socket.on('data', (data) => {
      received += data
    })
    const get = 'GET /model_info HTTP/1.1\r\nhost: x\r\n\r\n'
    socket.write(get)
    await eventually(() => received).toContain('}')
    const repliedMs = performance.now()
    expect(received.toLowerCase()).not.toContain('keep-alive')
    await new Promise((resolve) => socket.once('end', resolve))
    expect(performance.now() - repliedMs).toBeGreaterThan(150)
    expect(performance.now() - repliedMs).toBeLessThan(1_200)
  })

  it('is refused while the model loads; then /health says 503 until the engine is warm', async () => {
    const engine = await start({ timeScale: 0, loadMs: 100, warmUpMs: 200 })
    await expect(ask(engine.url, { path: '/health' })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const statusOf = (path: string) =>
      ask(engine.url, { path }).then(
        ({ status }) => status,
        () => 0,
      )
    await eventually(() => statusOf('/model_info')).toBe(200)
    expect(await statusOf('/health')).toBe(503)
    expect((await askJson(engine.url, '/generate', { text: 'A' })).status).toBe(200)
    await eventually(() => statusOf('/health')).toBe(200)
  })
})

/** The request bodies that a timeline names. */
function sentIn(name: string): string[] {
  return [...transcriptText(name).matchAll(/sent (\{.*\})$/gm)].map(([, body = '']) => body)
}

function postOf(path: string, body: string): string {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`
  return `${head}\r\n\r\n${body}`
}

/** Sends a request by hand, to see each byte that comes back and the end of the connection. */
function watch(engine: SimulatedEngine, path: string, body: string): { received: () => string; ended: Promise<void> } {
  const socket = connect(engine.port)
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  socket.on('error', () => {})
  socket.write(postOf(path, body))
  return { received: () => received, ended: new Promise((resolve) => socket.once('close', () => resolve())) }
}
