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
  /** Whole seconds on S3. In the answer to a put: the writer's clock. */
  readonly modifiedAt: Date
}

export interface CallOptions {
  /** Ends the call, also while it waits for a store that is down; the call throws the signal's reason. */
  readonly signal?: AbortSignal
}

export interface PutOptions extends CallOptions {
  /** `'absent'`: only if no object has the key. An etag: only if the object still has it (compare-and-swap). */
  readonly onlyIf?: 'absent' | { readonly etag: string }
  readonly contentType?: string
}

export interface GetOptions extends CallOptions {
  /**
   * First byte, and the byte after the last one (exclusive; left out, or beyond it: to the end). A start at or beyond the
   * end of the object throws `RangeNotSatisfiable`.
   */
  readonly range?: { readonly start: number; readonly end?: number }
  /** Fails with `PreconditionFailed` when the object has another etag by now. */
  readonly ifMatch?: string
}

/** `bytes` is the size of the whole object, also when only a range of it was asked for. */
export interface ObjectRead extends ObjectInfo {
  /**
   * The bytes asked for, to be iterated once. It holds a connection or file until it is read to the end or broken off: use
   * `head` when only the facts are wanted. A length that is not the promised one is an error.
   */
  readonly body: AsyncIterable<Uint8Array>
}

/** What a killed writer left behind. `get` and `list` never see it. */
export interface Leftover {
  /** Where it was going to be; for a hidden file, where it lies. */
  readonly key: string
  readonly kind: 'multipart-upload' | 'temporary-file' | 'lock'
  readonly startedAt: Date
  /** Space that it takes, where the store tells. */
  readonly bytes?: number
}

export interface CollectOptions extends CallOptions {
  /**
   * Leftovers of writers that are known to be dead count at once; those of writers that cannot be looked up (always so on
   * S3) when they are older than this. It must be longer than any upload takes.
   */
  readonly olderThanMs: number
}

export interface ObjectStore {
  /** `file:///data/longhaul` or `s3://bucket/prefix`, without a slash at the end. */
  readonly uri: string

  /**
   * Writes a whole object atomically: readers see all of it or nothing, and what was acknowledged survives a crash.
   * Throws `PreconditionFailed` when `onlyIf` does not hold. A lost reply to one's own write is not a failure: it is
   * read back and recognised. Throws `StoreUnavailable` when the store does not answer for longer than its outage budget,
   * `StoreRefused` when it says no.
   */
  put(key: string, body: Uint8Array | string, options?: PutOptions): Promise<ObjectInfo>

  /**
   * Like `put`, for a body of unknown length; memory is bounded by the part size. What the body's source throws is thrown
   * on as it is. A source that can wait for long has to heed the signal itself. Once the next chunk is asked for, the one
   * before is not looked at any more, so that its memory may be used again.
   */
  putStream(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<ObjectInfo>

  /**
   * Opens an object. Throws `ObjectNotFound`. The body resumes by itself after a broken connection, always with the same
   * version of the object; if that one was replaced meanwhile, the iteration throws `PreconditionFailed`.
   */
  get(key: string, options?: GetOptions): Promise<ObjectRead>

  head(key: string, options?: CallOptions): Promise<ObjectInfo | undefined>

  /** All objects whose key starts with `prefix`, in the order of their keys' UTF-8 bytes. */
  list(prefix: string, options?: CallOptions): AsyncIterable<ObjectInfo>

  /** Copies within the store (server-side where there is a server). Throws `ObjectNotFound`. */
  copy(fromKey: string, toKey: string, options?: PutOptions): Promise<ObjectInfo>

  /** Like `copy`, from another store of the same server; undefined where there is no such short way (see `copyObject`). */
  copyFrom?(source: ObjectStore, fromKey: string, toKey: string, options?: PutOptions): Promise<ObjectInfo | undefined>

  /** Removes an object; removing an absent one is no error. */
  delete(key: string, options?: CallOptions): Promise<void>

  /** Releases connections. */
  close(): Promise<void>
}

/** A store that outlives its writers, so that the killed ones leave something behind: what `createOpenStore` opens. */
export interface DurableStore extends ObjectStore {
  /** What killed writers left behind under `prefix`. */
  leftovers(prefix: string, options: CollectOptions): AsyncIterable<Leftover>

  /** Removes leftovers and says which. */
  collectLeftovers(prefix: string, options: CollectOptions): Promise<Leftover[]>

  /** Whether `onlyIf: 'absent'` holds for uploads in parts too; left out where there are none (see `probeConditionalPuts`). */
  probeUploads?(options?: CallOptions): Promise<boolean>
}

/** Opens stores by URI, the same store for the same URI; passed to whatever needs stores, so that credentials and endpoints stay at the edge. */
export type OpenStore = (uri: string) => ObjectStore
