import type { ResolvedOptions } from '../options.ts'
import type { Call } from './call.ts'
import { json, type WholeReply } from './reply.ts'

/** Endpoints that the admin key takes over where there is one. */
const adminPaths = new Set(
  '/abort_request /flush_cache /pause_generation /continue_generation /slow_down /freeze_gc'.split(' '),
)
const openPaths = /^\/(health|metrics|_sim)/

/** The refusal of a call without the right key; undefined for one that may pass. */
export function unauthorized({ apiKey, adminApiKey }: ResolvedOptions, call: Call): WholeReply | undefined {
  if (call.method === 'OPTIONS' || openPaths.test(call.path)) return undefined
  const isAdmin = adminPaths.has(call.path)
  const wanted = isAdmin && adminApiKey !== undefined ? adminApiKey : apiKey
  if (wanted === undefined || call.headers.authorization === `Bearer ${wanted}`) return undefined
  return json({ error: 'Unauthorized' }, 401)
}
