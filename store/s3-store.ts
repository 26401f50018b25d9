import { randomUUID } from 'node:crypto'
import {
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3'
import { checkKey, checkPrefix, isValidKey } from './keys.ts'
import { checkRange } from './object-body.ts'
import { objectInfo, S3Connection } from './s3-connection.ts'
import { copyOnServer } from './s3-copy.ts'
import { getObject } from './s3-get.ts'
import { abortUpload, refusesUploadOverObject } from './s3-multipart.ts'
import type { ResolvedS3Options } from './s3-options.ts'
import { putObject, putObjectStream } from './s3-put.ts'
import type {
  CallOptions,
  CollectOptions,
  DurableStore,
  GetOptions,
  Leftover,
  ObjectInfo,
  ObjectRead,
  ObjectStore,
  PutOptions,
} from './store.ts'

/** A store in a bucket of an S3 server, or below a prefix in it. */
export class S3Store implements DurableStore {
  readonly uri: string
  readonly #s3: S3Connection

  /**
   * @param client made by `createS3Client` from the same options; shared by all stores of a server, closed by its owner.
   * @param prefix `''`, or names joined by `/`, without slashes at the ends.
   */
  constructor(client: S3Client, options: ResolvedS3Options, bucket: string, prefix: string) {
    this.#s3 = new S3Connection(client, options, bucket, prefix === '' ? '' : `${prefix}/`)
    this.uri = this.#s3.uri
  }

  async put(key: string, body: Uint8Array | string, options: PutOptions = {}): Promise<ObjectInfo> {
    this.#checkKey(key)
    return await putObject(this.#s3, key, typeof body === 'string' ? Buffer.from(body) : body, options)
  }

  async putStream(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<ObjectInfo> {
    this.#checkKey(key)
    return await putObjectStream(this.#s3, key, body, options)
  }

  async get(key: string, options: GetOptions = {}): Promise<ObjectRead> {
    this.#checkKey(key)
    checkRange(options.range)
    return await getObject(this.#s3, key, options)
  }

  async head(key: string, { signal }: CallOptions = {}): Promise<ObjectInfo | undefined> {
    this.#checkKey(key)
    return (await this.#s3.head({ operation: 'head', key, signal }))?.info
  }

  async *list(prefix: string, { signal }: CallOptions = {}): AsyncGenerator<ObjectInfo> {
    checkPrefix(this.uri, prefix)
    const { client, bucket, prefix: root } = this.#s3
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: root + prefix, ContinuationToken: token })
      const page = await this.#s3.call({ operation: 'list', key: prefix, signal }, (send) => client.send(command, send))
      for (const { Key = '', Size, ETag, LastModified } of page.Contents ?? []) {
        const key = Key.slice(root.length)
        // Consoles lay empty objects that end with a slash and stand for a folder.
        if (isValidKey(key)) yield objectInfo(key, Size, ETag, LastModified)
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    }
  }

  async copy(fromKey: string, toKey: string, options: PutOptions = {}): Promise<ObjectInfo> {
    this.#checkKey(fromKey)
    this.#checkKey(toKey)
    return await copyOnServer(this.#s3, fromKey, this.#s3, toKey, options)
  }

  async copyFrom(
    source: ObjectStore,
    fromKey: string,
    toKey: string,
    options: PutOptions = {},
  ): Promise<ObjectInfo | undefined> {
    // One client means one server and one set of permissions.
    if (!(source instanceof S3Store) || source.#s3.client !== this.#s3.client) return undefined
    source.#checkKey(fromKey)
    this.#checkKey(toKey)
    return await copyOnServer(source.#s3, fromKey, this.#s3, toKey, options)
  }

  async delete(key: string, { signal }: CallOptions = {}): Promise<void> {
    this.#checkKey(key)
    await this.#s3.call(
      { operation: 'delete', key, signal },
      (send) => this.#s3.client.send(new DeleteObjectCommand(this.#s3.at(key)), send),
      { 'not-found': () => undefined },
    )
  }

  async *leftovers(prefix: string, options: CollectOptions): AsyncGenerator<Leftover> {
    for await (const { uploadId: _, ...leftover } of this.#openUploads(prefix, options)) yield leftover
  }

  async collectLeftovers(prefix: string, options: CollectOptions): Promise<Leftover[]> {
    const collected: Leftover[] = []
    for await (const { uploadId, ...leftover } of this.#openUploads(prefix, options)) {
      await abortUpload(this.#s3, leftover.key, uploadId, options.signal)
      collected.push(leftover)
    }
    return collected
  }

  async probeUploads({ signal }: CallOptions = {}): Promise<boolean> {
    return await refusesUploadOverObject(this.#s3, `longhaul-probe/${randomUUID()}`, signal)
  }

  /** The client is shared: `createOpenStore` closes it. */
  async close(): Promise<void> {}

  async *#openUploads(
    prefix: string,
    { olderThanMs, signal }: CollectOptions,
  ): AsyncGenerator<Leftover & { uploadId: string }> {
    checkPrefix(this.uri, prefix)
    const { client, bucket, prefix: root } = this.#s3
    for (let next: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}; next; ) {
      const input: ListMultipartUploadsCommandInput = { Bucket: bucket, Prefix: root + prefix, ...next }
      const command = new ListMultipartUploadsCommand(input)
      const site = { operation: 'list uploads of', key: prefix, signal }
      const page: ListMultipartUploadsCommandOutput = await this.#s3.call(site, (send) => client.send(command, send))
      for (const { Key = '', UploadId = '', Initiated = new Date() } of page.Uploads ?? []) {
        if (!Key.startsWith(root + prefix) || Date.now() - Initiated.getTime() <= olderThanMs) continue
        yield { key: Key.slice(root.length), uploadId: UploadId, kind: 'multipart-upload', startedAt: Initiated }
      }
      next = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined
    }
  }

  #checkKey(key: string): void {
    checkKey(this.uri, key)
    // The limit on the length of a key counts the store's prefix.
    checkKey(this.uri, this.#s3.prefix + key)
  }
}
