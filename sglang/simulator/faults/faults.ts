import type { FinishReason } from '../engine/generation.ts'
import { isFields, parseBody } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { internalServerError, json, openAiError, type Reply } from '../http/reply.ts'
import { newRid } from '../http/rid.ts'
import { editMetaInfo, skewTimes } from './edit-reply.ts'
import type { FaultParameters, FaultRow, RequestHooks } from './hooks.ts'

const number = (parameters: FaultParameters, name: string): number => Number(parameters[name])
const outOfMemory =
  'Out of memory even after retracting all other requests in the decode batch. Aborting the last request.'

/** Everything that has been seen to go wrong with real servers, by its number in the catalogue. */
export const faults = {
  F1: {
    name: 'crash',
    effect: 'Every connection is reset, the port is closed while the model loads, and the engine comes back empty.',
    parameters: { loadMs: 500 },
    engine: (given, host) => {
      host.crash({ loadMs: number(given, 'loadMs') })
      return undefined
    },
  },
  F2: {
    name: 'scheduler hang',
    effect: 'Nothing completes; /health says 503 after its time-out; /server_info and /v1/loads never answer.',
    parameters: { killAfterMs: 375_000, loadMs: 500 },
    engine: (given, host) => {
      host.engine.hangUp('scheduler')
      const watchdog = setTimeout(() => host.crash({ loadMs: number(given, 'loadMs') }), number(given, 'killAfterMs'))
      return () => {
        clearTimeout(watchdog)
        host.engine.recover()
      }
    },
  },
  F3: {
    name: 'hang outside of a batch',
    effect: 'Nothing completes while /health says 200 and the load is zero; no watchdog ever fires.',
    parameters: {},
    engine: (_given, host) => {
      host.engine.hangUp('outside')
      return () => host.engine.recover()
    },
  },
  F4: {
    name: 'slow engine',
    effect: 'Every forward pass takes `factor` times as long.',
    parameters: { factor: 3 },
    engine: (given, host) => {
      host.engine.setSpeed({ factor: number(given, 'factor') })
      return () => host.engine.setSpeed({ factor: 1 })
    },
  },
  F5: {
    name: 'stalled event loop',
    effect: 'No endpoint answers for `ms` (garbage collection), then all do.',
    parameters: { ms: 2_000 },
    engine: (given, host) => {
      host.stall(number(given, 'ms'))
      return undefined
    },
  },
  F6: {
    name: '503 queue full',
    effect: 'The request is turned away; a stream is, with status 200, by an event.',
    parameters: {},
    request: () => ({ answer: (call) => refusal(call, 'The request queue is full.', 503, 'SERVICE_UNAVAILABLE') }),
  },
  F7: {
    name: '500 text/plain',
    effect: "The web framework's own `Internal Server Error`.",
    parameters: {},
    request: () => ({ answer: () => internalServerError }),
  },
  F8: {
    name: '500 out of memory',
    effect: 'The last request that was left did not fit even alone.',
    parameters: {},
    request: () => ({ answer: (call) => refusal(call, outOfMemory, 500, 'INTERNAL_SERVER_ERROR') }),
  },
  F9: {
    name: '200 with an abort',
    effect: 'Status 200, finish reason `abort`, `share` of the text (0: none).',
    parameters: { share: 0.5 },
    request: (given) =>
      ends(number(given, 'share'), { type: 'abort', message: 'Aborted', status_code: null, err_type: null }),
  },
  F10: {
    name: 'NaN happened',
    effect: 'Status 200, finish reason `stop`, matched `NaN happened`, `share` of the text.',
    parameters: { share: 0.5 },
    request: (given) => ends(number(given, 'share'), { type: 'stop', matched: 'NaN happened' }),
  },
  F11: {
    name: 'empty text',
    effect: 'Status 200, finish reason `stop`, one token, no text.',
    parameters: {},
    request: () => ({
      plan: (plan, { writer }) => {
        const finish: FinishReason = { type: 'stop', matched: writer.tokenizer.eosId }
        return { ...plan, tokens: 1, finish, instead: { ids: [], pieces: [] } }
      },
    }),
  },
  F12: {
    name: 'truncated thinking',
    effect: 'The answer is cut within its thinking; with a reasoning parser the content is null.',
    parameters: {},
    request: () => ({
      plan: (plan, { limit }) => {
        const thinking = plan.answer.thinking === 'none' ? 'written' : plan.answer.thinking
        const answer = { ...plan.answer, thinking, naturalTokens: limit * 10 + 1_000 } as const
        return { answer, tokens: limit, finish: { type: 'length', length: limit } }
      },
    }),
  },
  F13: {
    name: 'reset of a reused connection',
    effect: 'A connection that has served a request is reset when the next one comes.',
    parameters: {},
    request: () => ({ delivery: 'resetAtOnce' }),
  },
  F14: {
    name: 'broken body',
    effect: 'Half of the body: `mode` reset, truncated (JSON cut short) or length (wrong content-length).',
    parameters: { mode: 'reset' },
    request: ({ mode }) => ({
      delivery: mode === 'truncated' ? 'truncated' : mode === 'length' ? 'shortOfLength' : 'resetMidBody',
    }),
  },
  F15: {
    name: 'lost reply',
    effect: 'All the work is done, then the connection closes without a byte.',
    parameters: {},
    request: () => ({ delivery: 'lost' }),
  },
  F16: {
    name: 'refused connections',
    effect: 'The port is closed for `ms` while the engine lives on.',
    parameters: { ms: 60_000 },
    engine: (given, host) => {
      host.refuseConnections(number(given, 'ms'))
      return () => host.refuseConnections(0)
    },
  },
  F17: {
    name: 'restart with another configuration',
    effect: 'The engine comes back with another cap, weight version or model.',
    parameters: { loadMs: 500, weightVersion: 'other' },
    engine: ({ loadMs, cap, weightVersion, modelId }, host) => {
      const changes = {
        ...(cap !== undefined && { cap: Number(cap) }),
        ...(weightVersion !== undefined && { weightVersion: String(weightVersion) }),
        ...(modelId !== undefined && { modelId: String(modelId), modelPath: String(modelId) }),
      }
      host.crash({ loadMs: Number(loadMs), changes })
      return undefined
    },
  },
  F18: {
    name: 'leaked request id',
    effect: 'The request id is said to be in use, and stays so.',
    parameters: {},
    request: (_given, host) => ({
      answer: (call) => {
        const rid = ridOf(call)
        host.engine.holdForEver(rid)
        return refused(call, `Duplicate request ID detected: ${rid}`)
      },
    }),
  },
  F19: {
    name: 'zombie',
    effect: 'A client that leaves is not noticed: its request runs on to its end and holds its slot.',
    parameters: {},
    request: () => ({ ignoresDisconnect: true }),
  },
  F20: {
    name: 'abort storm kills the server',
    effect: '`aborts` given-up requests within `withinMs` end the process, as up to 0.5.13.',
    parameters: { aborts: 5, withinMs: 1_000, loadMs: 500 },
    engine: (given, host) => {
      const times: number[] = []
      return host.onAbort(() => {
        const nowMs = performance.now()
        times.push(nowMs)
        while ((times[0] ?? nowMs) < nowMs - number(given, 'withinMs')) times.shift()
        if (times.length >= number(given, 'aborts')) host.crash({ loadMs: number(given, 'loadMs') })
      })
    },
  },
  F21: {
    name: 'wrong or missing fields',
    effect:
      '`mode` missing (no count, no finish reason), wrong (a count that is not so) or none (no meta_info at all).',
    parameters: { mode: 'missing' },
    request: ({ mode }) => ({ reply: (reply) => editMetaInfo(reply, String(mode)) }),
  },
  F22: {
    name: 'retraction storm',
    effect: 'Half of the running requests lose their memory again and again; throughput falls by about 30 %.',
    parameters: { everyMs: 10_000, factor: 1.4 },
    engine: (given, host) => {
      const { engine } = host
      engine.setSpeed({ factor: number(given, 'factor') })
      const everyMs = Math.max(20, number(given, 'everyMs') * engine.options.timeScale)
      const timer = setInterval(() => engine.clock.retract(Math.ceil(engine.scheduler.running.length / 2)), everyMs)
      return () => {
        clearInterval(timer)
        engine.setSpeed({ factor: 1 })
      }
    },
  },
  F23: {
    name: 'drain without an end',
    effect: 'SIGTERM: /health says 503, requests are served, and the process never ends.',
    parameters: {},
    engine: (_given, host) => {
      host.engine.holdForEver(newRid())
      return undefined
    },
  },
  F24: {
    name: 'degenerate repetition',
    effect: 'The same few words up to the last token that is allowed.',
    parameters: {},
    request: () => ({
      plan: ({ answer }, { limit, writer }) => {
        const instead = writer.writeLoop(answer, limit)
        return { answer, tokens: limit, finish: { type: 'length', length: limit }, instead }
      },
    }),
  },
  F25: {
    name: 'broken stream',
    effect:
      'After `events` events: `mode` end (without [DONE]), cut (the connection closes) or error (an error event).',
    parameters: { events: 3, mode: 'end' },
    request: (given) => ({
      cutsStream: given.mode === 'cut',
      event: (data, index) => {
        if (index < number(given, 'events')) return data
        if (given.mode !== 'error' || index > number(given, 'events')) return undefined
        return JSON.stringify({ error: openAiError('Internal server error', 'InternalServerError', 500) })
      },
    }),
  },
  F26: {
    name: '401',
    effect: 'Every endpoint but /health and /metrics wants a key that nobody has.',
    parameters: {},
    request: () => ({ answer: () => json({ error: 'Unauthorized' }, 401) }),
  },
  F27: {
    name: 'clock skew',
    effect: 'Times in the reply are off by `seconds`.',
    parameters: { seconds: 3_600 },
    request: (given) => ({ reply: (reply) => skewTimes(reply, number(given, 'seconds')) }),
  },
  F28: {
    name: 'lost GPU',
    effect: 'The process dies, and every new start fails.',
    parameters: {},
    engine: (_given, host) => {
      host.die()
      return () => host.revive()
    },
  },
} satisfies Record<string, FaultRow>

export type FaultId = keyof typeof faults

export function isFaultId(id: unknown): id is FaultId {
  return typeof id === 'string' && Object.hasOwn(faults, id)
}

/** An answer that ends before its time. */
function ends(share: number, finish: FinishReason): RequestHooks {
  return { plan: (plan) => ({ ...plan, tokens: Math.floor(plan.tokens * share), finish }) }
}

/** A status that the scheduler gives up with: of a stream it is an event. */
function refusal(call: Call, message: string, status: number, streamType: string): Reply {
  if (!isStreamed(call)) return json(openAiError(message, `${status}`, status), status)
  const run = async (send: (data: string) => void) => {
    send(JSON.stringify({ error: openAiError(message, streamType, status) }))
    send('[DONE]')
  }
  return { kind: 'stream', sendsHeadAtOnce: true, run }
}

function refused(call: Call, message: string): Reply {
  const isNative = call.path === '/generate'
  return json(isNative ? { error: { message } } : openAiError(message, 'BadRequestError', 400), 400)
}

function fieldsOf(call: Call): Record<string, unknown> {
  try {
    const fields = parseBody(call.body)
    return isFields(fields) ? fields : {}
  } catch {
    return {}
  }
}

const isStreamed = (call: Call) => fieldsOf(call).stream === true

function ridOf(call: Call): string {
  const { rid } = fieldsOf(call)
  return typeof rid === 'string' ? rid : newRid()
}
