import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { BucketNotFound, ObjectNotFound, StoreRefused } from './errors.ts'
import { Outage } from './retry.ts'
import { describeS3Error, type S3Failure, type S3Verdict } from './s3-errors.ts'
import type { ResolvedS3Options } from './s3-options.ts'
import type { ObjectInfo } from './store.ts'

/** What the SDK's `send` takes beside the command. */
export interface SendOptions {
  abortSignal?: AbortSignal
}

export interface CallSite {
  readonly operation: string
  readonly key: string
  readonly signal?: AbortSignal
}

/** Metadata name of the token that tells one's own write from another's when a reply was lost. */
const tokenName = 'longhaul-token'

/** One bucket and prefix of a server: sends requests, outlives outages, and translates errors. */
export class S3Connection {
  readonly uri: string
  #isBucketKnown = false
  #hadCredentials = false

  /** @param prefix in front of every key, with its slash at the end, or empty. */
  constructor(
    readonly client: S3Client,
    readonly options: ResolvedS3Options,
    readonly bucket: string,
    readonly prefix: string,
  ) {
    this.uri = `s3://${bucket}/${prefix}`.replace(/\/+$/, '')
  }

  /** The full key in the bucket. */
  at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket, Key: this.prefix + key }
  }

  /**
   * Makes one request, again and again while its failures are of the passing kind. `answers` says what the other verdicts
   * mean to the caller; a verdict without an answer becomes `StoreRefused`, `ObjectNotFound` or `BucketNotFound`.
   */
  async call<T, A = never>(
    site: CallSite,
    attempt: (options: SendOptions) => Promise<T>,
    answers: Partial<Record<S3Verdict, (failure: S3Failure) => A | Promise<A>>> = {},
  ): Promise<T | A> {
    const outage = new Outage(this.options.retry, { uri: this.uri, ...site })
    let attempts = 0
    for (;;) {
      site.signal?.throwIfAborted()
      try {
        const result = await attempt({ abortSignal: site.signal })
        this.#hadCredentials = true
        return result
      } catch (error) {
        site.signal?.throwIfAborted()
        const failure = describeS3Error(error)
        if (!failure) throw error
        attempts += failure.attempts
        const answer = answers[failure.verdict]
        if (answer) return await answer(failure.withAttempts(attempts))
        if (!this.#passes(failure.verdict)) throw this.#explain(failure, site)
        await outage.wait(failure)
      }
    }
  }

  /** Facts of an object with its metadata; undefined if there is none. */
  async head(
    site: CallSite,
  ): Promise<{ info: ObjectInfo; Metadata?: Record<string, string>; ContentType?: string } | undefined> {
    const found = await this.call(
      site,
      (options) => this.client.send(new HeadObjectCommand(this.at(site.key)), options),
      { 'not-found': () => undefined, refused: () => this.#headByGet(site) },
    )
    if (!found) return await this.#checkBucket(site)
    const { Metadata, ContentType } = found
    return { Metadata, ContentType, info: objectInfo(site.key, found.ContentLength, found.ETag, found.LastModified) }
  }

  /**
   * A refused HEAD gives no reason, so that an expired token or a wrong clock, which pass, look like a missing permission.
   * A GET of the first byte needs the same permission, and says why or answers the question itself.
   */
  async #headByGet(site: CallSite): Promise<GetObjectCommandOutput | undefined> {
    const get = async (options: SendOptions, range: { Range?: string }) => {
      const reply = await this.client.send(new GetObjectCommand({ ...this.at(site.key), ...range }), options)
      if (reply.Body && 'destroy' in reply.Body) reply.Body.destroy()
      return { ...reply, ContentLength: Number(reply.ContentRange?.split('/')[1] ?? reply.ContentLength) }
    }
    return await this.call(site, (options) => get(options, { Range: 'bytes=0-0' }), {
      'not-found': () => undefined,
      // An empty object has no first byte.
      range: () => this.call(site, (options) => get(options, {}), { 'not-found': () => undefined }),
    })
  }

  /** Fields of a request that creates an object, however it does. */
  creation(token: string, contentType: string | undefined) {
    const { encryption, tags } = this.options
    // Not URLSearchParams: not every server reads its plus signs as spaces.
    const tagging = Object.entries(tags)
      .map((tag) => tag.map(encodeURIComponent).join('='))
      .join('&')
    return {
      Metadata: { [tokenName]: token },
      ...(contentType !== undefined && { ContentType: contentType }),
      ...(tagging !== '' && { Tagging: tagging }),
      ...(encryption && { ServerSideEncryption: encryption.kind }),
      ...(encryption &&
        encryption.kind !== 'AES256' && {
          ...(encryption.keyId !== undefined && { SSEKMSKeyId: encryption.keyId }),
          ...(encryption.useBucketKey !== undefined && { BucketKeyEnabled: encryption.useBucketKey }),
        }),
    }
  }

  /** Which checksum the server is to check and keep. */
  checksum(): { ChecksumAlgorithm?: 'SHA256' | 'CRC32' } {
    const { checksums } = this.options
    if (checksums === 'when-required') return {}
    return { ChecksumAlgorithm: checksums === 'sha256' ? 'SHA256' : 'CRC32' }
  }

  /** The object if it is there and was written with `token`. */
  async ownWrite(site: CallSite, token: string): Promise<ObjectInfo | undefined> {
    const found = await this.head(site)
    return found?.Metadata?.[tokenName] === token ? found.info : undefined
  }

  /** A HEAD cannot tell a missing object from a missing bucket. Asked once; a bucket does not go away in silence. */
  async #checkBucket(site: CallSite): Promise<undefined> {
    if (this.#isBucketKnown) return
    await this.call(
      { ...site, operation: 'look for the bucket of' },
      (options) => this.client.send(new HeadBucketCommand({ Bucket: this.bucket }), options),
      {
        'not-found': () => {
          throw new BucketNotFound(this.uri, this.bucket)
        },
        // Looking at the bucket needs a permission that a store can do without.
        refused: () => undefined,
      },
    )
    this.#isBucketKnown = true
  }

  /** Whoever hands out credentials may be down for a while as well; only at the start does it mean that there are none. */
  #passes(verdict: S3Verdict): boolean {
    return verdict === 'transient' || verdict === 'conflict' || (verdict === 'no-credentials' && this.#hadCredentials)
  }

  #explain(failure: S3Failure, { operation, key }: CallSite): Error {
    if (failure.verdict === 'no-bucket') return new BucketNotFound(this.uri, this.bucket)
    if (failure.verdict === 'not-found') return new ObjectNotFound(this.uri, key)
    return new StoreRefused(this.uri, key, operation, failure.code, failure.status, failure)
  }
}

export function objectInfo(
  key: string,
  bytes: number | undefined,
  etag: string | undefined,
  modifiedAt: Date | undefined,
): ObjectInfo {
  // Some servers leave the quotes out in one place and not in the other; conditions need them.
  const quoted = etag === undefined || /^(W\/)?".*"$/.test(etag) ? (etag ?? '') : `"${etag}"`
  return { key, bytes: bytes ?? 0, etag: quoted, modifiedAt: modifiedAt ?? new Date() }
}
