import type { Engine } from './engine.ts'
import type { Reply } from './reply.ts'

/** One HTTP request, read in whole. */
export interface Call {
  method: string
  path: string
  query: URLSearchParams
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
  /** Calls back when SGLang would notice that the client has left. */
  onGone: (callback: () => void) => void
}

export type Handler = (engine: Engine, call: Call) => Reply | Promise<Reply>
