import type { CommittedObject } from '../../domain/commit.ts'
import { hashObject } from '../../store/hash-object.ts'
import type { ObjectStore } from '../../store/store.ts'

/** How much of what was uploaded is read back: its length only, every tenth object whole, or all of it. */
export type VerifyPolicy = 'head' | 'sample' | 'full'

/** What the store holds is not what was sent to it. */
export class ObjectDamaged extends Error {
  override readonly name = 'ObjectDamaged'
  constructor(store: ObjectStore, key: string, difference: string) {
    super(`${store.uri}/${key} is damaged: ${difference}`)
  }
}

/** Holds an object in the store against what is known of it. Throws `ObjectDamaged`. */
export async function verifyObject(store: ObjectStore, object: CommittedObject, policy: VerifyPolicy): Promise<void> {
  const info = await store.head(object.key)
  if (!info) throw new ObjectDamaged(store, object.key, 'it is not there')
  if (info.bytes !== object.bytes)
    throw new ObjectDamaged(store, object.key, `${info.bytes} bytes instead of ${object.bytes}`)
  if (policy === 'full' || (policy === 'sample' && isSampled(object))) await verifyHash(store, object)
}

/** Reads the whole object and compares its hash. Throws `ObjectDamaged`. */
export async function verifyHash(store: ObjectStore, { key, sha256 }: CommittedObject): Promise<void> {
  const found = await hashObject(store, key)
  if (found !== sha256) throw new ObjectDamaged(store, key, `SHA-256 ${found} instead of ${sha256}`)
}

/** Every tenth, by its content's hash, so that a retry picks the same. */
function isSampled({ sha256 }: CommittedObject): boolean {
  return Number.parseInt(sha256.slice(0, 8), 16) % 10 === 0
}
