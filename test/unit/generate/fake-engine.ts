import type { AskContext, AskedEngine } from '../../../activities/generate/complete-prompt.ts'
import type { Prompt } from '../../../domain/prompt.ts'
import { AttemptFailed, type EngineClient, type TurnReply, type TurnRequest } from '../../../sglang/engine-client.ts'
import type { Symptom } from '../../../sglang/error-table.ts'
import { NoReply } from '../../../sglang/http.ts'
import { InFlight } from '../../../sglang/in-flight.ts'

export type Step = Partial<TurnReply> | { symptom: Symptom } | { code: string }

export function replyWith(reply: Partial<TurnReply> = {}): TurnReply {
  const text = reply.text ?? 'Fine, thank you.'
  return {
    text,
    content: text,
    finishReason: 'stop',
    usage: { promptTokens: 7, completionTokens: 5, cachedTokens: 0, reasoningTokens: 0 },
    ...reply,
  }
}

/** A client that answers with the steps in turn, the last one for ever, and remembers what it was asked. */
export function scriptedClient(...steps: Step[]): EngineClient & { asked: TurnRequest[] } {
  const asked: TurnRequest[] = []
  return {
    asked,
    async complete(request) {
      asked.push(structuredClone(request))
      const step = steps[Math.min(asked.length, steps.length) - 1] ?? {}
      if ('symptom' in step) throw new AttemptFailed(step.symptom)
      if ('code' in step) throw new NoReply(step.code, '/generate')
      return replyWith(step)
    },
    describe: async () => ({ model: 'm', weightVersion: 'w', warnings: [] }),
    load: async () => undefined,
    isHealthy: async () => true,
    close: async () => {},
  }
}

export function askedEngine(
  client: EngineClient,
  overrides: Partial<AskedEngine> = {},
): AskedEngine & { parked: string[] } {
  const parked: string[] = []
  return {
    queue: 'gpu-0',
    model: 'm',
    weightVersion: 'w',
    client,
    park: (why) => void parked.push(why),
    isWell: () => false,
    whenWell: async () => {},
    parked,
    ...overrides,
  }
}

export function askContext(
  engine: AskedEngine,
  overrides: Partial<Omit<AskContext, 'settings'>> & { settings?: Partial<AskContext['settings']> } = {},
): AskContext {
  let rids = 0
  const { settings, ...rest } = overrides
  return {
    engine,
    earlier: [],
    canDefer: false,
    cancelled: new AbortController().signal,
    inFlight: new InFlight(),
    newRid: () => `rid-${++rids}`,
    now: () => 1_000,
    wait: async () => {},
    random: () => 0,
    ...rest,
    settings: {
      sampling: { maxNewTokens: 100 },
      truncation: 'keep',
      attempts: 3,
      deadlineMs: () => 1_000,
      ...settings,
    },
  }
}

export function promptOf(...contents: string[]): Prompt {
  return {
    promptId: contents.join('/').padEnd(32, '0').slice(0, 32),
    source: 's',
    messages: contents.map((content) => ({ role: 'user', content })),
    provenance: { file: 'f.jsonl', row: 1 },
  }
}
