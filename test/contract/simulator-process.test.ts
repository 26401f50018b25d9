import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type SimulatedEngine,
  type SimulatedEngineOptions,
  startSimulatedEngine,
} from '../../sglang/simulator/simulated-engine.ts'
import { ask, askJson } from './simulator/ask.ts'

const quick = { healthMs: 20, disconnectPollMs: 50, streamDisconnectMs: 50 }
/** Writes a token every 10 ms. */
const steady = { t0Ms: 10, aMs: 0, bNs: 0, eta: 1, prefillFixedMs: 1 }

const started: SimulatedEngine[] = []
afterEach(() => Promise.all(started.splice(0).map((engine) => engine.close())))

async function start(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const engine = await startSimulatedEngine({
    serviceModel: steady,
    lengths: { meanTokens: 5_000, sigma: 0 },
    edge: quick,
    ...options,
  })
  started.push(engine)
  return engine
}

const settled = (reply: Promise<{ status: number }>): Promise<number | string> =>
  reply.then(
    ({ status }) => status,
    (error: { code: string }) => error.code,
  )
const infoOf = (engine: SimulatedEngine) => settled(ask(engine.url, { path: '/model_info' }))
const longRequest = (engine: SimulatedEngine, at: number) =>
  settled(askJson(engine.url, '/generate', { text: `${at}`, sampling_params: { max_new_tokens: 4_000 } }))

describe('a connection in use', () => {
  it('is not closed as idle by the reply before, however late that is known to be out', async () => {
    const engine = await start({ edge: { ...quick, idleMs: 100 } })
    const socket = connect(engine.port)
    let received = ''
    socket.on('data', (data) => {
      received += data
    })
    const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
    // Sent together, so that the second is being worked on before the first reply is out.
    const body = JSON.stringify({ text: 'x', sampling_params: { max_new_tokens: 40 } })
    socket.write('GET /model_info HTTP/1.1\r\nhost: x\r\n\r\n')
    socket.write(`POST /generate HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    expect(await closed).toContain('"completion_tokens":40')
  })
})

describe('an engine that died', () => {
  it('counts no request as given up that it took with it, so that one storm is one death', async () => {
    let deaths = 0
    const engine = await start({
      onDeath: () => deaths++,
      faults: [{ fault: 'F20', with: { aborts: 3, withinMs: 10_000, loadMs: 20 } }],
    })
    const lost = Array.from({ length: 20 }, (_, at) => longRequest(engine, at))
    await expect.poll(() => engine.stats().running).toBe(20)
    engine.crash(20)
    expect(new Set(await Promise.all(lost))).toEqual(new Set(['ECONNRESET']))
    await expect.poll(() => infoOf(engine)).toBe(200)
    // Takes longer than it takes to look for clients that left.
    const after = await askJson(engine.url, '/generate', { text: 'x', sampling_params: { max_new_tokens: 30 } })
    expect(after.status).toBe(200)
    expect(deaths).toBe(1)
  })
})

describe('a port that was closed for a while', () => {
  it('opens once, when its fault is removed or its time is over', async () => {
    const engine = await start()
    const id = engine.setFault({ fault: 'F16', with: { ms: 150 } })
    expect(await infoOf(engine)).toBe('ECONNREFUSED')
    engine.removeFault(id)
    await expect.poll(() => infoOf(engine)).toBe(200)
    const again = engine.setFault({ fault: 'F16', with: { ms: 60_000 } })
    expect(await infoOf(engine)).toBe('ECONNREFUSED')
    engine.removeFault(again)
    await expect.poll(() => infoOf(engine)).toBe(200)
  })

  it('says nothing of warming up, for the engine lived on', async () => {
    const engine = await start({ warmUpMs: 50 })
    const health = () => settled(ask(engine.url, { path: '/health' }))
    await expect.poll(health).toBe(200)
    engine.setFault({ fault: 'F16', with: { ms: 30 } })
    await expect.poll(health, { interval: 1 }).toBe('ECONNREFUSED')
    await expect.poll(async () => (await health()) === 'ECONNREFUSED', { interval: 1 }).toBe(false)
    expect(await health()).toBe(200)
  })
})

describe('a stalled server', () => {
  it('stands still until the last of several stalls is over', async () => {
    const engine = await start({ timeScale: 0 })
    const beganMs = performance.now()
    engine.setFault({ fault: 'F5', with: { ms: 300 } })
    engine.setFault({ fault: 'F5', with: { ms: 20 } })
    engine.setFault({ fault: 'F5', with: { ms: 100 } })
    expect(await infoOf(engine)).toBe(200)
    expect(performance.now() - beganMs).toBeGreaterThan(290)
  })

  it('holds back the events of a stream, too', async () => {
    const engine = await start()
    const socket = connect(engine.port)
    const times: number[] = []
    socket.on('data', () => times.push(performance.now()))
    const body = JSON.stringify({ text: 'x', stream: true, sampling_params: { max_new_tokens: 1_000 } })
    socket.write(`POST /generate HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    await expect.poll(() => times.length).toBeGreaterThan(3)
    engine.setFault({ fault: 'F5', with: { ms: 200 } })
    await expect.poll(() => longestGap(times), { timeout: 3_000 }).toBeGreaterThan(190)
    socket.destroy()
  })
})

const longestGap = (times: readonly number[]) =>
  Math.max(...times.slice(1).map((time, at) => time - (times[at] ?? time)))
