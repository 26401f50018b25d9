import type { ObjectInfo, ObjectStore, PutOptions } from './store.ts'

export interface ObjectPlace {
  readonly store: ObjectStore
  readonly key: string
}

/**
 * Copies an object to any store: on the server where both stores are on one, else through this process. Throws
 * `ObjectNotFound`.
 */
export async function copyObject(from: ObjectPlace, to: ObjectPlace, options: PutOptions = {}): Promise<ObjectInfo> {
  const copied = await to.store.copyFrom?.(from.store, from.key, to.key, options)
  if (copied) return copied
  const { body } = await from.store.get(from.key, { signal: options.signal })
  return await to.store.putStream(to.key, body, options)
}
