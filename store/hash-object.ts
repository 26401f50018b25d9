import { createHash } from 'node:crypto'
import type { GetOptions, ObjectStore } from './store.ts'

/** SHA-256 (hex) of an object's bytes, read from the store now. Throws `ObjectNotFound`. */
export async function hashObject(store: ObjectStore, key: string, options?: GetOptions): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of (await store.get(key, options)).body) hash.update(chunk)
  return hash.digest('hex')
}
