import { randomUUID } from 'node:crypto'
import { ConditionalPutsIgnored, PreconditionFailed } from './errors.ts'
import type { CallOptions, DurableStore, ObjectStore, PutOptions } from './store.ts'

/** Which conditions a server honours; a false one means that it overwrites where it should refuse. */
export interface ConditionalPuts {
  /** `onlyIf: 'absent'`. */
  readonly absent: boolean
  /** `onlyIf: { etag }`. */
  readonly etag: boolean
  /** `onlyIf: 'absent'` of a stream so large that it is uploaded in parts. */
  readonly absentInParts: boolean
}

/** Tries the conditions on an object of its own, which it removes again. */
export async function probeConditionalPuts(
  store: ObjectStore | DurableStore,
  { signal }: CallOptions = {},
): Promise<ConditionalPuts> {
  const key = `longhaul-probe/${randomUUID()}`
  const isRefused = async (content: string, onlyIf: PutOptions['onlyIf']) => {
    try {
      await store.put(key, content, { onlyIf, signal })
      return false
    } catch (error) {
      if (error instanceof PreconditionFailed) return true
      throw error
    }
  }
  try {
    const first = await store.put(key, 'first', { onlyIf: 'absent', signal })
    const absent = await isRefused('second', 'absent')
    const swapped = await store.put(key, 'third', {
      onlyIf: { etag: (await store.head(key))?.etag ?? first.etag },
      signal,
    })
    const etag = swapped.etag !== first.etag && (await isRefused('fourth', { etag: first.etag }))
    const absentInParts = 'probeUploads' in store ? ((await store.probeUploads?.({ signal })) ?? true) : true
    return { absent, etag, absentInParts }
  } finally {
    await store.delete(key)
  }
}

/** To be called once at start. Throws `ConditionalPutsIgnored` when two writers could both believe that they have won. */
export async function requireConditionalPuts(store: ObjectStore, options?: CallOptions): Promise<void> {
  const { absent, etag, absentInParts } = await probeConditionalPuts(store, options)
  const ignored = [
    ...(absent ? [] : ['If-None-Match']),
    ...(etag ? [] : ['If-Match']),
    ...(absentInParts ? [] : ['If-None-Match of uploads in parts']),
  ]
  if (ignored.length > 0) throw new ConditionalPutsIgnored(store.uri, ignored)
}
