import { Agent, request } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { type FaultId, faults } from '../../sglang/simulator/faults/faults.ts'
import {
  type SimulatedEngine,
  type SimulatedEngineOptions,
  startSimulatedEngine,
} from '../../sglang/simulator/simulated-engine.ts'
import { ask, askJson, eventsOf } from './simulator/ask.ts'
import { eventually } from './simulator/eventually.ts'
import type { RecordedReply } from './simulator/transcript.ts'

const quick = { healthMs: 20, healthTimeoutMs: 100, disconnectPollMs: 50, streamDisconnectMs: 50, drainPollMs: 10 }
/** Writes a token every 10 ms, so that requests are under way for as long as a test needs. */
const steady = { t0Ms: 10, aMs: 0, bNs: 0, eta: 1, prefillFixedMs: 1 }

const started: SimulatedEngine[] = []
afterEach(() => Promise.all(started.splice(0).map((engine) => engine.close())))

async function start(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const engine = await startSimulatedEngine({
    timeScale: 0,
    edge: quick,
    lengths: { meanTokens: 60, sigma: 0 },
    ...options,
  })
  started.push(engine)
  return engine
}

const slow = (options: SimulatedEngineOptions = {}) =>
  start({ timeScale: 1, serviceModel: steady, lengths: { meanTokens: 10_000, sigma: 0 }, ...options })

interface Generated {
  text: string
  output_ids: number[]
  meta_info: Record<string, unknown> & { finish_reason: { type: string; matched?: unknown; length?: number } }
}

const generate = (engine: SimulatedEngine, fields: Record<string, unknown> = {}): Promise<RecordedReply> =>
  askJson(engine.url, '/generate', { text: 'Tell me', sampling_params: { max_new_tokens: 100 }, ...fields })

const chat = (engine: SimulatedEngine, fields: Record<string, unknown> = {}): Promise<RecordedReply> =>
  askJson(engine.url, '/v1/chat/completions', {
    messages: [{ role: 'user', content: 'Tell me' }],
    max_tokens: 100,
    ...fields,
  })

const parsed = (reply: RecordedReply): Generated => JSON.parse(reply.body)
/** The status of a reply, or the code of the error that came instead. */
const settled = (reply: Promise<RecordedReply>): Promise<number | string> =>
  reply.then(
    ({ status }) => status,
    (error: { code: string }) => error.code,
  )
const statusOf = (engine: SimulatedEngine, path: string) => settled(ask(engine.url, { path }))
const running = (engine: SimulatedEngine) => eventually(() => engine.stats().running)

const checks: Record<FaultId, () => Promise<void>> = {
  F1: async () => {
    const engine = await slow()
    const lost = settled(generate(engine, { sampling_params: { max_new_tokens: 5_000 } }))
    await running(engine).toBe(1)
    engine.setFault({ fault: 'F1', with: { loadMs: 50 } })
    expect(await lost).toBe('ECONNRESET')
    expect(await statusOf(engine, '/model_info')).toBe('ECONNREFUSED')
    await eventually(() => statusOf(engine, '/model_info')).toBe(200)
    expect(engine.stats()).toMatchObject({ running: 0, completed: 0 })
  },

  F2: async () => {
    const engine = await slow()
    const lost = settled(generate(engine))
    await running(engine).toBe(1)
    expect(await statusOf(engine, '/v1/loads')).toBe(200)
    engine.setFault({ fault: 'F2', with: { killAfterMs: 400, loadMs: 10 } })
    const { steps } = engine.stats()
    const hung = statusOf(engine, '/v1/loads')
    expect(await statusOf(engine, '/health')).toBe(503)
    expect(engine.stats().steps).toBe(steps)
    expect([await lost, await hung]).toEqual(['ECONNRESET', 'ECONNRESET'])
  },

  F3: async () => {
    const engine = await slow()
    engine.setFault({ fault: 'F3' })
    const fault = engine.faults()[0]?.id
    const reply = generate(engine, { sampling_params: { max_new_tokens: 2 } })
    await eventually(() => engine.stats().running + engine.stats().waiting).toBe(1)
    expect(await statusOf(engine, '/health')).toBe(200)
    expect(JSON.parse((await ask(engine.url, { path: '/get_load' })).body)[0].num_reqs).toBe(0)
    engine.removeFault(fault)
    expect((await reply).status).toBe(200)
  },

  F4: async () => {
    const latency = async (engine: SimulatedEngine) =>
      Number(
        parsed(await generate(engine, { sampling_params: { max_new_tokens: 50, ignore_eos: true } })).meta_info
          .e2e_latency,
      )
    const usual = await latency(await start())
    const slowed = await start()
    slowed.setFault({ fault: 'F4', with: { factor: 4 } })
    expect((await latency(slowed)) / usual).toBeCloseTo(4, 3)
    slowed.removeFault()
    // The same prompt again: its beginning may be cached, its decoding takes as long.
    expect((await latency(slowed)) / usual).toBeCloseTo(1, 1)
  },

  F5: async () => {
    const engine = await start()
    engine.setFault({ fault: 'F5', with: { ms: 150 } })
    const beganMs = performance.now()
    const statuses = await Promise.all([statusOf(engine, '/model_info'), generate(engine).then(({ status }) => status)])
    expect(statuses).toEqual([200, 200])
    expect(performance.now() - beganMs).toBeGreaterThan(140)
  },

  F6: async () => {
    const engine = await start({ faults: [{ fault: 'F6' }] })
    const body = { object: 'error', message: 'The request queue is full.', type: '503', param: null, code: 503 }
    for (const reply of [await generate(engine), await chat(engine)]) {
      expect(reply.status).toBe(503)
      expect(JSON.parse(reply.body)).toEqual(body)
    }
    const streamed = await chat(engine, { stream: true })
    expect(streamed.status).toBe(200)
    const [event, end] = eventsOf(streamed.body)
    expect(JSON.parse(event ?? '').error).toMatchObject({
      message: body.message,
      type: 'SERVICE_UNAVAILABLE',
      code: 503,
    })
    expect(end).toBe('[DONE]')
  },

  F7: async () => {
    const engine = await start({ faults: [{ fault: 'F7' }] })
    const reply = await generate(engine)
    expect(reply.status).toBe(500)
    expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(reply.body).toBe('Internal Server Error')
  },

  F8: async () => {
    const engine = await start({ faults: [{ fault: 'F8' }] })
    const reply = await chat(engine)
    expect(reply.status).toBe(500)
    expect(JSON.parse(reply.body)).toMatchObject({ object: 'error', code: 500 })
    expect(reply.body).toContain('Out of memory even after retracting')
  },

  F9: async () => {
    const engine = await start({
      faults: [
        { fault: 'F9', when: { nth: 1 } },
        { fault: 'F9', when: { nth: 1 }, with: { share: 0 } },
      ],
    })
    const reply = await generate(engine)
    expect(reply.status).toBe(200)
    expect(parsed(reply).meta_info.finish_reason).toEqual({
      type: 'abort',
      message: 'Aborted',
      status_code: null,
      err_type: null,
    })
    expect(parsed(reply).text).toBe('')
    engine.setFault({ fault: 'F9', when: { nth: 1 } })
    expect(parsed(await generate(engine)).text).not.toBe('')
    engine.setFault({ fault: 'F9' })
    expect(JSON.parse((await chat(engine)).body).choices[0].finish_reason).toBe('abort')
  },

  F10: async () => {
    const engine = await start({ faults: [{ fault: 'F10' }] })
    expect(parsed(await generate(engine)).meta_info.finish_reason).toEqual({ type: 'stop', matched: 'NaN happened' })
    expect(JSON.parse((await chat(engine)).body).choices[0].matched_stop).toBe('NaN happened')
  },

  F11: async () => {
    const engine = await start({ faults: [{ fault: 'F11' }] })
    const { text, output_ids, meta_info } = parsed(await generate(engine))
    expect(text).toBe('')
    expect(output_ids.length).toBe(1)
    expect(meta_info).toMatchObject({ completion_tokens: 1, finish_reason: { type: 'stop', matched: output_ids[0] } })
  },

  F12: async () => {
    const engine = await start({ reasoningParser: true, faults: [{ fault: 'F12' }] })
    const { choices } = JSON.parse((await chat(engine)).body)
    expect(choices[0]).toMatchObject({ finish_reason: 'length', message: { content: null } })
    expect(choices[0].message.reasoning_content).toContain('To prompt')
    const { text } = parsed(await generate(engine))
    expect(text).toContain('<think>')
    expect(text).not.toContain('</think>')
  },

  F13: async () => {
    const engine = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const get = () =>
      new Promise<number>((resolve, reject) => {
        request(`${engine.url}/model_info`, { agent }, (reply) => {
          reply.resume().on('end', () => resolve(reply.statusCode ?? 0))
        })
          .on('error', reject)
          .end()
      })
    engine.setFault({ fault: 'F13' })
    expect(await get()).toBe(200)
    await expect(get()).rejects.toMatchObject({ code: 'ECONNRESET' })
    agent.destroy()
  },

  F14: async () => {
    const engine = await start()
    const broken = async (mode: string) => {
      engine.removeFault()
      engine.setFault({ fault: 'F14', with: { mode } })
      return generate(engine)
    }
    await expect(broken('reset')).rejects.toMatchObject({ code: 'ECONNRESET' })
    await expect(broken('length')).rejects.toMatchObject({ code: 'ECONNRESET' })
    const truncated = await broken('truncated')
    expect(truncated.status).toBe(200)
    expect(() => JSON.parse(truncated.body)).toThrow()
  },

  F15: async () => {
    const engine = await start({ faults: [{ fault: 'F15', when: { nth: 1 } }] })
    await expect(generate(engine)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(engine.stats().completed).toBe(1)
    expect((await generate(engine)).status).toBe(200)
  },

  F16: async () => {
    const engine = await slow()
    const reply = generate(engine, { sampling_params: { max_new_tokens: 80 } })
    await running(engine).toBe(1)
    engine.setFault({ fault: 'F16', with: { ms: 100 } })
    expect(await statusOf(engine, '/model_info')).toBe('ECONNREFUSED')
    expect((await reply).status).toBe(200)
    await eventually(() => statusOf(engine, '/model_info')).toBe(200)
  },

  F17: async () => {
    const engine = await start({ cap: 72 })
    engine.setFault({ fault: 'F17', with: { loadMs: 20, cap: 16, weightVersion: 'v2', modelId: 'another' } })
    await eventually(() => statusOf(engine, '/model_info')).toBe(200)
    const { internal_states, weight_version, served_model_name } = JSON.parse(
      (await ask(engine.url, { path: '/server_info' })).body,
    )
    expect([weight_version, served_model_name]).toEqual(['v2', 'another'])
    expect(internal_states[0].effective_max_running_requests_per_dp).toBe(16)
  },

  F18: async () => {
    const engine = await start({ faults: [{ fault: 'F18', when: { nth: 1 } }] })
    for (let attempt = 0; attempt < 2; attempt++) {
      const reply = await generate(engine, { rid: 'mine' })
      expect(reply.status).toBe(400)
      expect(JSON.parse(reply.body)).toEqual({ error: { message: 'Duplicate request ID detected: mine' } })
    }
    expect((await generate(engine, { rid: 'another' })).status).toBe(200)
  },

  F19: async () => {
    const engine = await slow({ faults: [{ fault: 'F19', when: { nth: 1 } }] })
    const leave = async () => {
      const outgoing = request(`${engine.url}/generate`, { method: 'POST', agent: false })
      outgoing.on('error', () => {})
      outgoing.end(JSON.stringify({ text: 'x', sampling_params: { max_new_tokens: 5_000 } }))
      return () => outgoing.destroy()
    }
    const [zombie, other] = [await leave(), await leave()]
    await running(engine).toBe(2)
    zombie()
    other()
    await running(engine).toBe(1)
    expect(engine.stats().aborted).toBe(1)
  },

  F20: async () => {
    const engine = await slow({ faults: [{ fault: 'F20', with: { aborts: 3, loadMs: 30 } }] })
    const ends = ['a', 'b', 'c'].map((rid) => settled(generate(engine, { rid })))
    await running(engine).toBe(3)
    // The one call that gives up all three never returns.
    await askJson(engine.url, '/abort_request', { abort_all: true }).catch(() => {})
    expect(await Promise.all(ends)).toEqual(['ECONNRESET', 'ECONNRESET', 'ECONNRESET'])
    await eventually(() => statusOf(engine, '/model_info')).toBe(200)
  },

  F21: async () => {
    const engine = await start()
    const meta = async (mode: string) => {
      engine.removeFault()
      engine.setFault({ fault: 'F21', with: { mode } })
      return parsed(await generate(engine)).meta_info
    }
    expect(await meta('missing')).not.toHaveProperty('completion_tokens')
    expect((await meta('wrong')).completion_tokens).toBe(-1)
    expect(await meta('none')).toBeUndefined()
  },

  F22: async () => {
    const engine = await slow({ timeScale: 0.01, faults: [{ fault: 'F22', with: { everyMs: 100 } }] })
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        generate(engine, { text: `${at}`, sampling_params: { max_new_tokens: 3_000 } }),
      ),
    )
    expect(engine.stats().retractions).toBeGreaterThan(0)
    expect(replies.map(parsed).some(({ meta_info }) => Number(meta_info.num_retractions) > 0)).toBe(true)
    for (const { output_ids } of replies.map(parsed)) expect(output_ids.length).toBe(3_000)
  },

  F23: async () => {
    const engine = await start({ faults: [{ fault: 'F23' }] })
    const other = await start()
    const drains = [engine.drain().then(() => 'F23'), other.drain().then(() => 'other')]
    expect(await Promise.race(drains)).toBe('other')
    expect(await statusOf(engine, '/health')).toBe(503)
    expect((await generate(engine)).status).toBe(200)
  },

  F24: async () => {
    const engine = await start({ faults: [{ fault: 'F24' }] })
    const { text, output_ids, meta_info } = parsed(
      await generate(engine, { sampling_params: { max_new_tokens: 2_000 } }),
    )
    expect(meta_info.finish_reason).toEqual({ type: 'length', length: 2_000 })
    expect(output_ids.length).toBe(2_000)
    expect(text.split(text.slice(-60)).length).toBeGreaterThan(20)
  },

  F25: async () => {
    const engine = await start()
    const streamed = async (mode: string) => {
      engine.removeFault()
      engine.setFault({ fault: 'F25', with: { events: 4, mode } })
      return chat(engine, { stream: true })
    }
    const ended = eventsOf((await streamed('end')).body)
    expect(ended.length).toBe(4)
    expect(ended).not.toContain('[DONE]')
    const failed = eventsOf((await streamed('error')).body)
    expect(JSON.parse(failed.at(-1) ?? '').error.code).toBe(500)
    await expect(streamed('cut')).rejects.toMatchObject({ code: 'ECONNRESET' })
  },

  F26: async () => {
    const engine = await start({ faults: [{ fault: 'F26' }] })
    const reply = await generate(engine)
    expect(reply.status).toBe(401)
    expect(JSON.parse(reply.body)).toEqual({ error: 'Unauthorized' })
    expect([await statusOf(engine, '/model_info'), await statusOf(engine, '/health')]).toEqual([401, 200])
  },

  F27: async () => {
    const engine = await start({ faults: [{ fault: 'F27', with: { seconds: -7_200 } }] })
    const { meta_info } = parsed(await generate(engine))
    expect(Date.now() / 1_000 - Number(meta_info.response_sent_to_client_ts)).toBeGreaterThan(7_000)
  },

  F28: async () => {
    let deaths = 0
    const engine = await start({ onDeath: () => deaths++ })
    engine.setFault({ fault: 'F28' })
    expect(deaths).toBe(1)
    await eventually(() => statusOf(engine, '/health')).toBe('ECONNREFUSED')
    engine.removeFault()
    await eventually(() => statusOf(engine, '/model_info')).toBe(200)
  },
}

describe('faults', () => {
  for (const [id, check] of Object.entries(checks)) it(`${id}: ${faults[id as FaultId].name}`, check)
})
