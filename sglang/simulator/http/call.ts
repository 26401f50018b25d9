import type { Engine } from '../engine/engine.ts'
import type { Reply } from './reply.ts'

/** One HTTP request, read in whole. */
export interface Call {
  method: string
  path: string
  query: URLSearchParams
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
  /** Calls back when SGLang would give up the request of a client that has left, which depends on the kind of reply. */
  onGone: (kind: Reply['kind'], callback: () => void) => void
}

export type Handler = (engine: Engine, call: Call) => Reply | Promise<Reply>
