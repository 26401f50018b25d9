import { isFields } from '../http/body.ts'
import { json, type WholeReply } from '../http/reply.ts'

/** Takes from a reply, or falsifies, what the contract promises. */
export function editMetaInfo(reply: WholeReply, mode: string): WholeReply {
  return edit(reply, (body) => {
    const { meta_info, usage } = body
    if (mode === 'none') return { ...body, meta_info: undefined, usage: undefined }
    const counts = mode === 'wrong' ? { completion_tokens: -1, prompt_tokens: 'many' } : withoutCounts
    return {
      ...body,
      ...(isFields(meta_info) && {
        meta_info: { ...meta_info, ...counts, ...(mode !== 'wrong' && { finish_reason: undefined }) },
      }),
      ...(isFields(usage) && { usage: { ...usage, ...counts } }),
    }
  })
}

const withoutCounts = { completion_tokens: undefined, prompt_tokens: undefined, cached_tokens: undefined }

/** Moves every time in a reply. */
export function skewTimes(reply: WholeReply, seconds: number): WholeReply {
  return edit(reply, (body) => {
    const { meta_info, created } = body
    return {
      ...body,
      ...(typeof created === 'number' && { created: created + seconds }),
      ...(isFields(meta_info) && { meta_info: skewed(meta_info, seconds) }),
    }
  })
}

function skewed(fields: Record<string, unknown>, seconds: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      name.endsWith('_ts') && typeof value === 'number' ? value + seconds : value,
    ]),
  )
}

function edit(reply: WholeReply, change: (body: Record<string, unknown>) => Record<string, unknown>): WholeReply {
  if (reply.status !== 200 || reply.headers['content-type'] !== 'application/json') return reply
  const body: unknown = JSON.parse(reply.body)
  if (Array.isArray(body)) return json(body.map((item) => (isFields(item) ? change(item) : item)))
  return isFields(body) ? json(change(body)) : reply
}
