import { afterEach, expect, it } from 'vitest'
import type { TurnRequest } from '../../sglang/engine-client.ts'
import { NativeClient } from '../../sglang/native-client.ts'
import {
  type SimulatedEngine,
  type SimulatedEngineOptions,
  startSimulatedEngine,
} from '../../sglang/simulator/simulated-engine.ts'
import { StubTokenizer } from '../../sglang/simulator/text/stub-tokenizer.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())))

async function start(options: SimulatedEngineOptions = {}): Promise<{ engine: SimulatedEngine; client: NativeClient }> {
  const engine = await startSimulatedEngine({
    timeScale: 0,
    edge: { healthMs: 5 },
    lengths: { meanTokens: 200 },
    ...options,
  })
  const client = new NativeClient({ url: engine.url, connections: 4 })
  opened.push(client, engine)
  return { engine, client }
}

const turn = (more: Partial<TurnRequest> = {}): TurnRequest => ({
  messages: [{ role: 'user', content: 'What is a prime?' }],
  sampling: { maxNewTokens: 4_000 } as TurnRequest['sampling'],
  rid: 'rid-1',
  ...more,
})
const options = { deadlineMs: 10_000 }

it('Longhaul learns from a simulated engine what it needs to know of a real one', async () => {
  const { client } = await start({ modelId: 'm', weightVersion: 'w', cap: 12, contextLength: 4_096 })
  expect(await client.describe()).toMatchObject({
    model: 'm',
    weightVersion: 'w',
    version: '0.5.12',
    contextTokens: 4_096,
    maxRunning: 12,
  })
  expect(await client.isHealthy()).toBe(true)
  expect(await client.load()).toMatchObject({ running: 0, waiting: 0, kvUsage: 0 })
})

it('Longhaul accepts its answers, thinking taken apart, however the template opens it', async () => {
  for (const tokenizer of [new StubTokenizer(), new StubTokenizer(true)]) {
    const { client } = await start({ tokenizer })
    const reply = await client.complete(turn({ templateKwargs: { enable_thinking: true } }), options)
    expect(reply.finishReason).toBe('stop')
    expect(reply.outputIds?.length).toBe(reply.usage.completionTokens)
    expect(reply.content).toMatch(/^To prompt/)
    expect(reply.reasoning).toMatch(/^To prompt/)
  }
})

it('Longhaul finds the fault in each kind of broken answer', async () => {
  const { engine, client } = await start()
  for (const [fault, finding] of [
    ['F9', 'aborted'],
    ['F10', 'nan'],
    ['F11', 'empty'],
    ['F21', 'malformed'],
  ] as const) {
    engine.removeFault()
    engine.setFault({ fault })
    await expect(client.complete(turn(), options)).rejects.toMatchObject({ symptom: { finding } })
  }
  engine.removeFault()
  engine.setFault({ fault: 'F15' })
  await expect(client.complete(turn(), options)).rejects.toMatchObject({ name: 'NoReply' })
})
