import { AttemptFailed } from './engine-client.ts'
import type { HttpReply } from './http.ts'

const longestQuote = 500

/**
 * What an error reply says, whichever of the five shapes it has: `{error:{message}}`, `{error:"…"}`,
 * `{object:"error",message}`, `{detail}`, or plain text.
 */
export function messageOf(reply: HttpReply): string {
  const message = messageIn(jsonOf(reply)) ?? reply.body
  return message.length > longestQuote ? `${message.slice(0, longestQuote)}…` : message
}

/** The body as JSON, or undefined when it is none. */
export function jsonOf(reply: HttpReply): unknown {
  try {
    return JSON.parse(reply.body)
  } catch {
    return undefined
  }
}

/** The JSON of a reply with status 200. Throws `AttemptFailed` for any other. */
export function answered(reply: HttpReply): unknown {
  if (reply.status !== 200) throw new AttemptFailed({ status: reply.status, said: messageOf(reply) })
  const json = jsonOf(reply)
  if (typeof json !== 'object' || json === null) {
    throw new AttemptFailed({ status: 200, finding: 'malformed', said: `no JSON object: ${reply.body.slice(0, 200)}` })
  }
  return json
}

function messageIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { error, message, detail } = body as Record<string, unknown>
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  if (typeof message === 'string') return message
  if (typeof detail === 'string') return detail
  return undefined
}
