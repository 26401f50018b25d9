import type { Plan } from '../engine/generation.ts'
import type { Sampling } from '../engine/sampling.ts'
import type { Call } from '../http/call.ts'
import type { Reply, WholeReply } from '../http/reply.ts'
import type { AnswerWriter } from '../text/answer.ts'
import type { EngineHost } from './host.ts'

/** How the bytes of a reply go wrong on their way out. */
export type Delivery =
  /** Reset as soon as the request is read. */
  | 'resetAtOnce'
  /** Reset with half of the body sent. */
  | 'resetMidBody'
  /** Half of the body, with a `content-length` to match. */
  | 'truncated'
  /** Half of the body, with the `content-length` of all of it. */
  | 'shortOfLength'
  /** Closed without a byte after all the work. */
  | 'lost'

/** What a fault does to one request. The server asks for each where it matters, and goes on as usual where there is none. */
export interface RequestHooks {
  /** Answers in the engine's place. */
  answer?: (call: Call) => Reply
  /** Changes what will be written. */
  plan?: (plan: Plan, context: PlanContext) => Plan
  /** Changes the reply after the work. */
  reply?: (reply: WholeReply) => WholeReply
  delivery?: Delivery
  /** Is given each event of a stream: gives what is sent instead, or undefined to end the stream there. */
  event?: (data: string, index: number) => string | undefined
  /** The end that `event` makes is a cut, not an end of the body. */
  cutsStream?: boolean
  /** The engine goes on when the client has left. */
  ignoresDisconnect?: boolean
}

export interface PlanContext {
  sampling: Sampling
  /** Tokens that the request may write at most. */
  limit: number
  writer: AnswerWriter
}

export type FaultParameters = Record<string, number | string | boolean>

/** One row of the catalogue. */
export interface FaultRow {
  name: string
  /** What a client sees. */
  effect: string
  parameters: FaultParameters
  /** The request that sets it off is itself what goes wrong. */
  request?: (parameters: FaultParameters, host: EngineHost) => RequestHooks
  /** The engine as a whole goes wrong, from now on. Gives what undoes it, where it can be undone. */
  engine?: (parameters: FaultParameters, host: EngineHost) => (() => void) | undefined
}
