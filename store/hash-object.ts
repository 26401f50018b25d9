import { createHash } from 'node:crypto'
import { readOneVersion } from './read-object.ts'
import type { GetOptions, ObjectStore } from './store.ts'

/** SHA-256 (hex) of an object's bytes, read from the store now. Throws `ObjectNotFound`. */
export async function hashObject(store: ObjectStore, key: string, options?: GetOptions): Promise<string> {
  return await readOneVersion(store, key, options, async ({ body }) => {
    const hash = createHash('sha256')
    for await (const chunk of body) hash.update(chunk)
    return hash.digest('hex')
  })
}
