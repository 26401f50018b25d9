import { describe, expect, it } from 'vitest'
import {
  Cancelled,
  completePrompt,
  EngineRefused,
  type PromptEnd,
} from '../../../activities/generate/complete-prompt.ts'
import type { Failure, Sample } from '../../../domain/sample.ts'
import type { Finding } from '../../../sglang/error-table.ts'
import { askContext, askedEngine, promptOf, type Step, scriptedClient } from './fake-engine.ts'

const sampleIn = (end: PromptEnd): Sample => {
  if (end.kind !== 'sample') throw new Error(`no sample but a ${end.kind}`)
  return end.sample
}
const failureIn = (end: PromptEnd): Failure => {
  if (end.kind !== 'failure') throw new Error(`no failure but a ${end.kind}`)
  return end.failure
}
const symptomOf = (finding: Finding): Step => ({ symptom: { status: 200, finding, said: finding } })
const status = (code: number, said = 'x'): Step => ({ symptom: { status: code, said } })

describe('a prompt', () => {
  it('becomes a sample with the whole conversation', async () => {
    const client = scriptedClient({ text: 'one', promptIds: [1], outputIds: [2, 3] })
    const sample = sampleIn(await completePrompt(promptOf('hello'), askContext(askedEngine(client))))
    expect(sample.messages).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'one' },
    ])
    expect(sample).toMatchObject({
      engine: 'gpu-0',
      model: 'm',
      weightVersion: 'w',
      truncated: false,
      finishReason: 'stop',
    })
    expect(sample.turns).toMatchObject([{ promptIds: [1], outputIds: [2, 3], rid: 'rid-1', attempts: 1 }])
  })

  it('is asked turn by turn on the answers that the model gave', async () => {
    const client = scriptedClient({ text: 'one' }, { text: 'two', content: 'two', reasoning: 'hm' })
    const sample = sampleIn(await completePrompt(promptOf('a', 'b'), askContext(askedEngine(client))))
    expect(client.asked[1]?.messages.map((message) => message.content)).toEqual(['a', 'one', 'b'])
    expect(sample.messages.at(-1)).toEqual({ role: 'assistant', content: 'two', reasoning_content: 'hm' })
    expect(sample.usage).toMatchObject({ promptTokens: 14, completionTokens: 10 })
  })

  it('is all or nothing: a failed second turn leaves no sample', async () => {
    const client = scriptedClient({ text: 'one' }, status(400, 'bad'))
    const failure = failureIn(await completePrompt(promptOf('a', 'b'), askContext(askedEngine(client))))
    expect(failure).toMatchObject({ reason: 'refused_by_engine', attempts: [{ turn: 1, said: 'bad' }] })
  })

  it('scenario 51: has a fresh rid at every attempt', async () => {
    const client = scriptedClient(status(400, 'Duplicate request ID detected: x'), {})
    sampleIn(await completePrompt(promptOf('a'), askContext(askedEngine(client))))
    expect(client.asked.map((request) => request.rid)).toEqual(['rid-1', 'rid-2'])
  })
})

describe('scenario 50: HTTP 200 is not success', () => {
  it.each<[Finding, string]>([
    ['aborted', 'aborted'],
    ['nan', 'numeric_error'],
    ['empty', 'empty_answer'],
    ['malformed', 'malformed_answer'],
  ])('%s is tried again, and fails as %s when it goes on', async (finding, reason) => {
    const again = scriptedClient(symptomOf(finding), {})
    sampleIn(await completePrompt(promptOf('a'), askContext(askedEngine(again), { settings: { attempts: 2 } })))
    const always = scriptedClient(symptomOf(finding))
    const failure = failureIn(
      await completePrompt(promptOf('a'), askContext(askedEngine(always), { settings: { attempts: 1 } })),
    )
    expect(failure).toMatchObject({ reason, attempts: [{ reason }] })
  })

  it('scenario 32: an endless loop is drawn again, then fails as degenerate', async () => {
    const client = scriptedClient({ text: `Well. ${'and so on '.repeat(400)}`, finishReason: 'length' })
    const failure = failureIn(await completePrompt(promptOf('a'), askContext(askedEngine(client))))
    expect(failure).toMatchObject({ reason: 'degenerate' })
    expect(client.asked).toHaveLength(3)
  })
})

describe('scenario 33: an answer cut at the token limit', () => {
  const cut: Step = { finishReason: 'length', text: 'unfinished' }

  it('is kept and flagged', async () => {
    const sample = sampleIn(await completePrompt(promptOf('a'), askContext(askedEngine(scriptedClient(cut)))))
    expect(sample).toMatchObject({ truncated: true, finishReason: 'length' })
  })

  it('is asked for once more with twice the room, and kept if cut again', async () => {
    const client = scriptedClient(cut)
    const sample = sampleIn(
      await completePrompt(promptOf('a'), askContext(askedEngine(client), { settings: { truncation: 'extend' } })),
    )
    expect(client.asked.map((request) => request.sampling.maxNewTokens)).toEqual([100, 200])
    expect(sample.truncated).toBe(true)
  })

  it('fails when the spec says so, without being asked again', async () => {
    const client = scriptedClient(cut)
    const failure = failureIn(
      await completePrompt(promptOf('a'), askContext(askedEngine(client), { settings: { truncation: 'fail' } })),
    )
    expect(failure.reason).toBe('truncated')
    expect(client.asked).toHaveLength(1)
  })
})

describe('what the engine says', () => {
  it.each([
    ["The input (9000 tokens) is longer than the model's context length (8192 tokens).", 'prompt_too_long'],
    ['Input length (9 tokens) exceeds the maximum allowed length (8 tokens). Use a shorter input', 'prompt_too_long'],
    ['temperature must be non-negative, got -1.', 'refused_by_engine'],
  ])('400 %s fails at once as %s', async (said, reason) => {
    const client = scriptedClient(status(400, said))
    const end = failureIn(await completePrompt(promptOf('a'), askContext(askedEngine(client))))
    expect(end).toMatchObject({ reason })
    expect(end.message).toContain(said)
    expect(client.asked).toHaveLength(1)
  })

  it('invariant 5, scenario 11: a 4xx never counts against the engine', async () => {
    const engine = askedEngine(scriptedClient(status(400)))
    await completePrompt(promptOf('a'), askContext(engine))
    expect(engine.parked).toEqual([])
  })

  it("scenario 7: 500 is tried again and is nobody else's trouble", async () => {
    const engine = askedEngine(scriptedClient(status(500, 'Internal Server Error'), {}))
    sampleIn(await completePrompt(promptOf('a'), askContext(engine)))
    expect(engine.parked).toEqual([])
  })

  it.each([401, 403, 404, 405])('%i refuses the engine instead of failing its prompts', async (code) => {
    await expect(completePrompt(promptOf('a'), askContext(askedEngine(scriptedClient(status(code)))))).rejects.toThrow(
      EngineRefused,
    )
  })
})

describe('scenario 46: an engine in trouble', () => {
  it.each<[string, Step]>([
    ['refuses connections', { code: 'ECONNREFUSED' }],
    ['resets connections', { code: 'ECONNRESET' }],
    ['closes the socket', { code: 'UND_ERR_SOCKET' }],
    ['is full', status(503, 'The request queue is full.')],
  ])(
    'that %s is parked and burns no attempt',
    async (_, step) => {
      const engine = askedEngine(scriptedClient(step, step, step, step, {}))
      const sample = sampleIn(await completePrompt(promptOf('a'), askContext(engine, { settings: { attempts: 1 } })))
      expect(engine.parked).toHaveLength(4)
      expect(sample.turns[0]?.attempts).toBe(1)
    },
    60_000,
  )

  it('takes its prompts back when it is given up', async () => {
    const lost = new Error('lost')
    const engine = askedEngine(scriptedClient({}), { whenWell: () => Promise.reject(lost) })
    await expect(completePrompt(promptOf('a'), askContext(engine))).rejects.toBe(lost)
  })
})

describe('a prompt that fails on one engine', () => {
  it('is left for another one after a second try, with its attempts', async () => {
    const client = scriptedClient(symptomOf('nan'))
    const end = await completePrompt(promptOf('a'), askContext(askedEngine(client), { canDefer: true }))
    const attempt = { engine: 'gpu-0', reason: 'numeric_error' }
    expect(end).toMatchObject({ kind: 'deferred', attempts: [attempt, attempt] })
  })

  it('has used up its attempts over all engines together', async () => {
    const earlier = [1, 2].map((n) => ({
      rid: `r${n}`,
      engine: `gpu-${n}`,
      at: '',
      durationMs: 1,
      reason: 'aborted' as const,
      said: '',
      turn: 0,
    }))
    const client = scriptedClient(symptomOf('nan'))
    const failure = failureIn(
      await completePrompt(promptOf('a'), askContext(askedEngine(client), { canDefer: true, earlier })),
    )
    expect(failure.attempts.map((attempt) => attempt.engine)).toEqual(['gpu-1', 'gpu-2', 'gpu-0'])
  })
})

it('scenario 56: an answer by other weights refuses the engine', async () => {
  const client = scriptedClient({ weightVersion: 'other' })
  await expect(completePrompt(promptOf('a'), askContext(askedEngine(client)))).rejects.toThrow(/weights other, not w/)
})

it('a prompt that is taken away ends neither way', async () => {
  const cancel = new AbortController()
  const client = scriptedClient({ code: 'GIVEN_UP' })
  cancel.abort()
  await expect(
    completePrompt(promptOf('a'), askContext(askedEngine(client), { cancelled: cancel.signal })),
  ).rejects.toThrow(Cancelled)
})
