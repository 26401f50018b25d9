import { afterEach, describe, expect, it } from 'vitest'
import {
  type SimulatedEngine,
  type SimulatedEngineOptions,
  startSimulatedEngine,
} from '../../sglang/simulator/simulated-engine.ts'
import { ask, askJson } from './simulator/ask.ts'
import { eventually } from './simulator/eventually.ts'

const started: SimulatedEngine[] = []
afterEach(() => Promise.all(started.splice(0).map((engine) => engine.close())))

async function start(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const engine = await startSimulatedEngine({ timeScale: 0, lengths: { meanTokens: 60, sigma: 0 }, ...options })
  started.push(engine)
  return engine
}

const generate = (engine: SimulatedEngine, fields: Record<string, unknown> = {}) =>
  askJson(engine.url, '/generate', { text: 'Tell me', ...fields })
/** The status of a reply, or the code of the error that came instead. */
const statusOf = (engine: SimulatedEngine, path: string): Promise<number | string> =>
  ask(engine.url, { path }).then(
    ({ status }) => status,
    (error: { code: string }) => error.code,
  )

describe('triggers', () => {
  const failing = async (engine: SimulatedEngine, texts: string[]) => {
    const failed: string[] = []
    for (const text of texts) if ((await generate(engine, { text })).status === 500) failed.push(text)
    return failed
  }
  const letters = ['a', 'b', 'c', 'd', 'e', 'f']

  it('pick the nth request, every so many-th, and so many at most', async () => {
    const engine = await start({ faults: [{ fault: 'F7', when: { nth: 2 } }] })
    expect(await failing(engine, letters)).toEqual(['b'])
    engine.removeFault()
    engine.setFault({ fault: 'F7', when: { every: 2, times: 2 } })
    expect(await failing(engine, letters)).toEqual(['b', 'd'])
  })

  it('pick the prompts that contain a marker, whether they come as text, as messages or as ids', async () => {
    const engine = await start({ faults: [{ fault: 'F7', when: { marker: 'cursed "prompt"' } }] })
    const cursed = 'a cursed "prompt" here'
    expect(await failing(engine, [cursed, 'a blessed one'])).toEqual([cursed])
    expect(
      (await askJson(engine.url, '/v1/chat/completions', { messages: [{ role: 'user', content: cursed }] })).status,
    ).toBe(500)
    const { body } = await askJson(engine.url, '/tokenize', { messages: [{ role: 'user', content: cursed }] })
    expect((await generate(engine, { text: undefined, input_ids: JSON.parse(body).tokens })).status).toBe(500)
  })

  it('draw by probability, the same for the same seed', async () => {
    const texts = Array.from({ length: 60 }, (_, at) => `prompt ${at}`)
    const draw = async () =>
      failing(await start({ seed: 4, faults: [{ fault: 'F7', when: { probability: 0.3 } }] }), texts)
    const [once, again] = [await draw(), await draw()]
    expect(once).toEqual(again)
    expect(once.length).toBeGreaterThan(5)
    expect(once.length).toBeLessThan(35)
  })

  it('pick a share of the prompts: the same ones at each attempt, on each engine, whatever else is set there', async () => {
    const texts = Array.from({ length: 60 }, (_, at) => `prompt ${at}`)
    const share = { fault: 'F7', when: { promptShare: 0.3 } } as const
    const one = await start({ faults: [share] })
    const other = await start({ faults: [{ fault: 'F6', when: { nth: 1_000 } }, share] })
    const cursed = await failing(one, texts)
    expect(cursed.length).toBeGreaterThan(8)
    expect(cursed.length).toBeLessThan(30)
    expect(await failing(one, texts)).toEqual(cursed)
    expect(await failing(other, [...texts].reverse())).toEqual([...cursed].reverse())
    expect(await failing(await start({ seed: 1, faults: [share] }), texts)).not.toEqual(cursed)
  })

  it('begin and end by time', async () => {
    const engine = await start({ faults: [{ fault: 'F16', when: { afterMs: 60 }, with: { ms: 80 } }] })
    expect(await statusOf(engine, '/model_info')).toBe(200)
    await eventually(() => statusOf(engine, '/model_info')).toBe('ECONNREFUSED')
    await eventually(() => statusOf(engine, '/model_info')).toBe(200)
  })
})

describe('/_sim/fault', () => {
  it('sets, lists and removes faults while the engine runs', async () => {
    const engine = await start()
    const { body } = await askJson(engine.url, '/_sim/fault', { fault: 'F7', when: { every: 1 } })
    const { id } = JSON.parse(body)
    expect((await generate(engine)).status).toBe(500)
    const listed = JSON.parse((await ask(engine.url, { path: '/_sim/fault' })).body).faults
    expect(listed).toEqual([{ id, fault: 'F7', name: '500 text/plain', when: { every: 1 }, fired: 1 }])
    await ask(engine.url, { method: 'DELETE', path: `/_sim/fault?id=${id}` })
    expect((await generate(engine)).status).toBe(200)
  })

  it('says what is wrong with a fault that does not exist', async () => {
    const engine = await start()
    for (const wrong of [{ fault: 'F99' }, { fault: 'F7', when: { often: 1 } }, [], 'F7']) {
      const reply = await askJson(engine.url, '/_sim/fault', wrong)
      expect(reply.status).toBe(400)
      expect(JSON.parse(reply.body).error.message.length).toBeGreaterThan(10)
    }
  })
})
