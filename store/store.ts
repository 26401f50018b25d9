/**
 * The object store: where runs and datasets live. One interface, two implementations (`file://`, `s3://`), one contract
 * test. What a promise of this file says holds for both.
 */

/** What is known of an object without reading it. */
export interface ObjectInfo {
  /** Key relative to the store's root, segments joined by `/`. */
  readonly key: string
  readonly bytes: number
  /** Opaque version tag: equal tags mean equal content. Usable in `ifMatch`. */
  readonly etag: string
  readonly modifiedAt: Date
}

export interface PutOptions {
  /** `'absent'`: only if no object has the key. An etag: only if the object still has it (compare-and-swap). */
  readonly onlyIf?: 'absent' | { readonly etag: string }
  readonly contentType?: string
}

export interface GetOptions {
  /** First byte, and the byte after the last one (exclusive; left out: to the end). */
  readonly range?: { readonly start: number; readonly end?: number }
  /** Fails with `PreconditionFailed` when the object has another etag by now. */
  readonly ifMatch?: string
}

export interface ObjectRead extends ObjectInfo {
  /** The bytes asked for. Breaking off the iteration releases the connection. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface ObjectStore {
  /** `file:///data/longhaul` or `s3://bucket/prefix`, without a slash at the end. */
  readonly uri: string

  /**
   * Writes a whole object atomically: readers see all of it or nothing, and what was acknowledged survives a crash.
   * Throws `PreconditionFailed` when `onlyIf` does not hold. A lost reply to one's own write is not a failure: it is
   * read back and recognised.
   */
  put(key: string, body: Uint8Array | string, options?: PutOptions): Promise<ObjectInfo>

  /** Like `put`, for a body of unknown length; memory is bounded by the part size. */
  putStream(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<ObjectInfo>

  /** Opens an object. Throws `ObjectNotFound`. The body resumes by itself after a broken connection. */
  get(key: string, options?: GetOptions): Promise<ObjectRead>

  head(key: string): Promise<ObjectInfo | undefined>

  /** All objects whose key starts with `prefix`, in the order of their keys' UTF-8 bytes. */
  list(prefix: string): AsyncIterable<ObjectInfo>

  /** Copies within the store (server-side where there is a server). Throws `ObjectNotFound`. */
  copy(fromKey: string, toKey: string, options?: PutOptions): Promise<ObjectInfo>

  /** Removes an object; removing an absent one is no error. */
  delete(key: string): Promise<void>

  /** Releases connections. */
  close(): Promise<void>
}

/** Opens stores by URI; passed to whatever needs stores, so that credentials and endpoints stay at the edge. */
export type OpenStore = (uri: string) => ObjectStore
