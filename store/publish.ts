import { createHash, type Hash } from 'node:crypto'
import { ObjectNotFound, PreconditionFailed, WriteOnceConflict } from './errors.ts'
import { hashObject } from './hash-object.ts'
import type { CallOptions, ObjectInfo, ObjectStore } from './store.ts'

export interface Published {
  readonly info: ObjectInfo
  /** SHA-256 (hex) of the content. */
  readonly sha256: string
  /** The same content had been published before, by an earlier attempt or another worker. */
  readonly wasThere: boolean
}

export interface PublishOptions extends CallOptions {
  readonly contentType?: string
}

/**
 * Writes an object that is written once. The same content there already is success; other content throws
 * `WriteOnceConflict` and stays as it is. So a step that ends with this may be run again as often as need be.
 */
export async function publish(
  store: ObjectStore,
  key: string,
  body: Uint8Array | string | AsyncIterable<Uint8Array>,
  options: PublishOptions = {},
): Promise<Published> {
  const isStream = typeof body !== 'string' && !(body instanceof Uint8Array)
  const hash = createHash('sha256')
  const content = isStream ? hashed(body, hash) : body
  if (!isStream) hash.update(body as Uint8Array | string)

  const before = await store.head(key, options)
  if (before) {
    if (isStream) for await (const _ of hashed(body, hash));
    return await compare(store, key, before, hash.digest('hex'), options)
  }
  try {
    const put = { ...options, onlyIf: 'absent' } as const
    const info = isStream
      ? await store.putStream(key, content as AsyncIterable<Uint8Array>, put)
      : await store.put(key, content as Uint8Array | string, put)
    return { info, sha256: hash.digest('hex'), wasThere: false }
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
    const winner = await store.head(key, options)
    if (!winner) throw new ObjectNotFound(store.uri, key)
    return await compare(store, key, winner, hash.digest('hex'), options)
  }
}

async function compare(
  store: ObjectStore,
  key: string,
  existing: ObjectInfo,
  sha256: string,
  { signal }: PublishOptions,
): Promise<Published> {
  const existingSha256 = await hashObject(store, key, { ifMatch: existing.etag, signal })
  if (existingSha256 !== sha256) throw new WriteOnceConflict(store.uri, key, existingSha256, sha256)
  return { info: existing, sha256, wasThere: true }
}

async function* hashed(body: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    hash.update(chunk)
    yield chunk
  }
}
