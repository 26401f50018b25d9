import { fileURLToPath } from 'node:url'
import type { S3Client } from '@aws-sdk/client-s3'
import { UnsupportedStoreUri } from './errors.ts'
import { FileStore } from './file-store.ts'
import { checkKey } from './keys.ts'
import { createS3Client, type ResolvedS3Options, resolveS3Options, type S3Options } from './s3-options.ts'
import { S3Store } from './s3-store.ts'
import type { DurableStore, ObjectStore, OpenStore } from './store.ts'

export interface OpenStoreOptions {
  /** For all `s3://` stores. */
  readonly s3?: S3Options
  /** Differences by bucket, for buckets on other servers or with other credentials. */
  readonly s3ByBucket?: Readonly<Record<string, S3Options>>
}

/** Opens stores by URI, and closes all that it has opened. */
export interface StoreOpener extends OpenStore {
  (uri: string): DurableStore
  close(): Promise<void>
}

/**
 * Makes the function that opens stores by URI. Stores and their connections are shared: the same URI gives the same store,
 * and all buckets without differing options use one client.
 */
export function createOpenStore({ s3 = {}, s3ByBucket = {} }: OpenStoreOptions = {}): StoreOpener {
  const stores = new Map<string, DurableStore>()
  const servers = new Map<string, { client: S3Client; options: ResolvedS3Options }>()

  const serverOf = (bucket: string) => {
    const differences = Object.hasOwn(s3ByBucket, bucket) ? s3ByBucket[bucket] : undefined
    const name = differences ? bucket : ''
    const known = servers.get(name)
    if (known) return known
    const options = resolveS3Options({ ...s3, ...differences })
    const server = { client: createS3Client(options), options }
    servers.set(name, server)
    return server
  }

  const open = (location: StoreLocation): DurableStore => {
    if (location.kind === 'file') return new FileStore(location.path)
    const { client, options } = serverOf(location.bucket)
    return new S3Store(client, options, location.bucket, location.prefix)
  }

  const openStore = (uri: string): DurableStore => {
    const known = stores.get(uri)
    if (known) return known
    const opened = open(parseStoreUri(uri))
    const store = stores.get(opened.uri) ?? opened
    stores.set(uri, store)
    stores.set(store.uri, store)
    return store
  }

  const close = async () => {
    for (const { client } of servers.values()) client.destroy()
    servers.clear()
    stores.clear()
  }
  return Object.assign(openStore, { close })
}

/** Splits the URI of an object into a store and the key in it. */
export function openObject(openStore: OpenStore, objectUri: string): { store: ObjectStore; key: string } {
  const [root, key] = splitObjectUri(objectUri)
  return { store: openStore(root), key }
}

export type StoreLocation =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }

/** Throws `UnsupportedStoreUri`. Slashes at the end do not matter. */
export function parseStoreUri(uri: string): StoreLocation {
  if (uri.startsWith('s3://')) return parseS3(uri)
  if (uri.startsWith('file://')) return { kind: 'file', path: parseFile(uri) }
  if (uri.startsWith('/')) throw new UnsupportedStoreUri(uri, `a folder is written file://${uri}`)
  throw new UnsupportedStoreUri(uri, 'it begins neither with file:// nor with s3://')
}

function parseS3(uri: string): StoreLocation {
  const [bucket = '', ...names] = uri.slice('s3://'.length).replace(/\/+$/, '').split('/')
  if (!/^[a-z0-9A-Z][a-z0-9A-Z._-]{1,254}$/.test(bucket)) {
    throw new UnsupportedStoreUri(uri, `${JSON.stringify(bucket)} is no bucket name`)
  }
  const prefix = names.join('/')
  if (prefix !== '') checkKey(uri, prefix)
  return { kind: 's3', bucket, prefix }
}

function parseFile(uri: string): string {
  try {
    const path = fileURLToPath(uri).replace(/\/+$/, '')
    return path === '' ? '/' : path
  } catch (error) {
    throw new UnsupportedStoreUri(uri, error instanceof Error ? error.message.toLowerCase() : String(error))
  }
}

/** An S3 object belongs to its bucket, a file to its folder. */
function splitObjectUri(uri: string): [root: string, key: string] {
  const location = parseStoreUri(uri)
  if (location.kind === 's3') {
    if (location.prefix === '') throw new UnsupportedStoreUri(uri, 'it names a bucket and no object')
    return [`s3://${location.bucket}`, location.prefix]
  }
  const end = uri.replace(/\/+$/, '').lastIndexOf('/')
  return [uri.slice(0, end), decodeURIComponent(uri.replace(/\/+$/, '').slice(end + 1))]
}
