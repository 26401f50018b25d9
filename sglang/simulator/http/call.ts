import type { Engine } from '../engine/engine.ts'
import type { RequestHooks } from '../faults/hooks.ts'
import type { Reply } from './reply.ts'

/** One HTTP request, read in whole. */
export interface Call {
  method: string
  path: string
  /** What follows the question mark. */
  query: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
  /** Its connection has served a request before. */
  isReused: boolean
  /** Calls back when SGLang would give up the request of a client that has left, which depends on the kind of reply. */
  onGone: (kind: Reply['kind'], callback: () => void) => void
  /** What goes wrong with it. */
  hooks: RequestHooks
}

export type Handler = (engine: Engine, call: Call) => Reply | Promise<Reply>
