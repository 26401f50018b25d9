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

function messageIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { error, message, detail } = body as Record<string, unknown>
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  if (typeof message === 'string') return message
  if (typeof detail === 'string') return detail
  return undefined
}
