import type { ObjectInfo, ObjectStore, PutOptions } from './store.ts'

/** Writes a value as JSON with a newline at its end. */
export async function putJson(
  store: ObjectStore,
  key: string,
  value: unknown,
  options: PutOptions = {},
): Promise<ObjectInfo> {
  return await store.put(key, `${JSON.stringify(value)}\n`, { contentType: 'application/json', ...options })
}
