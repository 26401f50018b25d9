import type { Readable } from 'node:stream'
import { GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { ObjectCorrupt, PreconditionFailed, RangeNotSatisfiable, StoreRefused } from './errors.ts'
import { singleUse } from './object-body.ts'
import { Outage } from './retry.ts'
import { objectInfo, type S3Connection } from './s3-connection.ts'
import type { GetOptions, ObjectRead } from './store.ts'

/** Opens an object for reading; its body survives broken and stalled connections. */
export async function getObject(s3: S3Connection, key: string, options: GetOptions): Promise<ObjectRead> {
  const { range, ifMatch, signal } = options
  const first = await openRange(s3, key, { start: range?.start ?? 0, end: range?.end, ifMatch, signal })
  const info = objectInfo(key, first.bytes, first.reply.ETag, first.reply.LastModified)
  const reader = new ResumingReader(s3, info.etag, first, { key, start: range?.start ?? 0, end: first.end, signal })
  return { ...info, body: singleUse(reader.chunks(), () => reader.release()) }
}

interface OpenRange {
  reply: GetObjectCommandOutput
  body: Readable
  /** Size of the whole object. */
  bytes: number
  /** Byte after the last one that this reply will bring. */
  end: number
}

interface Wanted {
  start: number
  end?: number
  ifMatch?: string
  signal?: AbortSignal
}

async function openRange(s3: S3Connection, key: string, { start, end, ifMatch, signal }: Wanted): Promise<OpenRange> {
  const isPart = start > 0 || end !== undefined
  const site = { operation: 'get', key, signal }
  const reply = await s3.call(
    site,
    (send) =>
      s3.client.send(
        new GetObjectCommand({
          ...s3.at(key),
          ...(isPart && { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` }),
          ...(ifMatch !== undefined && { IfMatch: ifMatch }),
        }),
        send,
      ),
    {
      precondition: () => {
        throw new PreconditionFailed(s3.uri, key, { etag: ifMatch ?? '' })
      },
      range: () => {
        throw new RangeNotSatisfiable(s3.uri, key, start)
      },
    },
  )
  const body = reply.Body as Readable
  const length = reply.ContentLength ?? 0
  if (!isPart) return { reply, body, bytes: length, end: length }
  const [, first, bytes] = /^bytes (\d+)-\d+\/(\d+)$/.exec(reply.ContentRange ?? '') ?? []
  if (Number(first) !== start) {
    body.destroy()
    const problem = new Error(`asked for bytes from ${start}, it sent ${reply.ContentRange ?? 'the whole object'}`)
    throw new StoreRefused(s3.uri, key, 'get a range of', 'RangeIgnored', reply.$metadata.httpStatusCode, problem)
  }
  return { reply, body, bytes: Number(bytes), end: start + length }
}

/** Reads one version of an object, going on with a new request where the last one broke off. */
class ResumingReader {
  readonly #key: string
  readonly #end: number
  readonly #signal: AbortSignal | undefined
  #at: number
  #body: Readable

  constructor(
    private readonly s3: S3Connection,
    private readonly etag: string,
    { body }: OpenRange,
    { key, start, end, signal }: { key: string; start: number; end: number; signal?: AbortSignal },
  ) {
    this.#key = key
    this.#at = start
    this.#end = end
    this.#signal = signal
    this.#body = body
    this.#ignoreLateErrors()
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const { s3 } = this
    const outage = new Outage(s3.options.retry, { uri: s3.uri, key: this.#key, operation: 'get', signal: this.#signal })
    for (;;) {
      try {
        for await (const chunk of withoutStalls(this.#body, s3.options.idleTimeoutMs, this.#signal)) {
          outage.end()
          this.#at += chunk.length
          if (this.#at > this.#end) break
          yield chunk
        }
        if (this.#at === this.#end) return
        if (this.#at > this.#end) throw new Error('more bytes arrived than the object has')
        throw new Error(`the connection ended ${this.#end - this.#at} bytes early`)
      } catch (error) {
        this.#signal?.throwIfAborted()
        const problem = error instanceof Error ? error : new Error(String(error))
        if (this.#at === this.#end && isOfConnection(problem)) return
        // All bytes are there, or too many: what fails now is the checksum.
        if (this.#at >= this.#end) throw new ObjectCorrupt(s3.uri, this.#key, problem.message, problem)
        await outage.wait(problem)
        await this.#resume()
      }
    }
  }

  release(): void {
    this.#body.destroy()
  }

  async #resume(): Promise<void> {
    this.#body.destroy()
    const wanted = { start: this.#at, end: this.#end, ifMatch: this.etag, signal: this.#signal }
    const { body } = await openRange(this.s3, this.#key, wanted)
    this.#body = body
    this.#ignoreLateErrors()
  }

  /** A connection that is closed on purpose still reports an error, by then to nobody. */
  #ignoreLateErrors(): void {
    this.#body.on('error', () => {})
  }
}

class Stalled extends Error {
  constructor(idleMs: number) {
    super(`no byte came for ${idleMs} ms`)
  }
}

function isOfConnection(error: Error): boolean {
  return (
    error instanceof Stalled || error.name === 'TimeoutError' || typeof (error as { code?: unknown }).code === 'string'
  )
}

/** The chunks of a stream; one that takes longer than `idleMs` ends the stream with an error. */
async function* withoutStalls(
  body: Readable,
  idleMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const onAbort = () => body.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
  // Only waiting for the server counts: a slow reader may take its time.
  let isWaiting = true
  const timer = setTimeout(() => {
    if (isWaiting) body.destroy(new Stalled(idleMs))
  }, idleMs)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    if (signal?.aborted) onAbort()
    for await (const chunk of body) {
      isWaiting = false
      yield chunk
      isWaiting = true
      timer.refresh()
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}
