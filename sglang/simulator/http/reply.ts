import { GivenUp, Invalid, OutsideContract, Refused, Unhandled, Unparsable } from '../engine/errors.ts'

/** A whole answer, sent in one go. */
export interface WholeReply {
  kind: 'whole'
  status: number
  headers: Record<string, string>
  body: string
}

/** Server-sent events, each sent when it is there. */
export interface StreamReply {
  kind: 'stream'
  /** The head is sent before there is any event. */
  sendsHeadAtOnce: boolean
  /** Sends the data of every event; resolves after the last. */
  run: (send: (data: string) => void) => Promise<void>
}

export type Reply = WholeReply | StreamReply

export const json = (value: unknown, status = 200): WholeReply => jsonText(JSON.stringify(value), status)

export const jsonText = (body: string, status = 200): WholeReply => ({
  kind: 'whole',
  status,
  headers: { 'content-type': 'application/json' },
  body,
})

export const text = (body: string, status = 200): WholeReply => ({
  kind: 'whole',
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body,
})

/** Text that says nothing of what it is. */
export const bareText = (body: string, status = 200): WholeReply => ({ kind: 'whole', status, headers: {}, body })

export const empty = (status = 200): WholeReply => ({ kind: 'whole', status, headers: {}, body: '' })

/** An error as the OpenAI endpoints and the request validation put it. */
export const openAiError = (message: string, type: string, code: number): Record<string, unknown> => ({
  object: 'error',
  message,
  type,
  param: null,
  code,
})

/** What SGLang's own endpoints answer when a handler threw. */
export function nativeFailure(error: unknown): WholeReply {
  if (error instanceof Refused) return json({ error: { message: error.message } }, error.status)
  if (error instanceof Unhandled) return internalServerError
  return anyFailure(error)
}

/** What the OpenAI endpoints answer when a handler threw. */
export function openAiFailure(error: unknown): WholeReply {
  if (error instanceof Refused) return json(openAiError(error.message, error.type, error.status), error.status)
  if (error instanceof Unhandled) {
    return json(openAiError(`Internal server error: ${error.message}`, 'InternalServerError', 500), 500)
  }
  return anyFailure(error)
}

function anyFailure(error: unknown): WholeReply {
  if (error instanceof GivenUp) return json(openAiError(error.message, `${error.status}`, error.status), error.status)
  if (error instanceof Invalid) return json(openAiError(error.message, 'Bad Request', 400), 400)
  if (error instanceof OutsideContract) return json({ error: error.message }, 400)
  if (error instanceof Unparsable) return json({ detail: 'There was an error parsing the body' }, 400)
  throw error
}

/** What the web framework answers when nobody else did. */
export const internalServerError: WholeReply = text('Internal Server Error', 500)
