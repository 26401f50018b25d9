import { randomUUID } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { ObjectNotFound, ObjectTooLarge, PreconditionFailed, UploadLost } from './errors.ts'
import { conditionHeaders, lostCondition } from './s3-conditions.ts'
import { objectInfo, type S3Connection } from './s3-connection.ts'
import type { S3Failure } from './s3-errors.ts'
import type { ObjectInfo, PutOptions } from './store.ts'

/** How long a failed upload is tried to be removed. */
const abortLimitMs = 5_000

/** Small enough that a server copies a part well within the idle timeout, large enough that parts are few. */
const copyPartBytes = 256 * 1024 * 1024

/** S3's limit on the parts of an object. */
const mostParts = 10_000

/**
 * Uploads an object in parts. Every part is a buffer, so that each can be sent again by itself. The SDK's own
 * `lib-storage` is not used: it gives up on a part with the SDK's few retries and takes a lost reply to the completion for a
 * failure.
 */
export async function uploadParts(
  s3: S3Connection,
  key: string,
  parts: AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<ObjectInfo> {
  const { partsInFlight, partBytes } = s3.options
  let bytes = 0
  return await inParts(s3, key, { ...options, ...s3.checksum() }, async (uploadId, signal) => {
    const completed = await mapInFlight(parts, partsInFlight, signal, async (part, index, partSignal) => {
      if (index === mostParts) {
        const limit = partBytes * mostParts
        throw new ObjectTooLarge(s3.uri, key, limit, 'Raise partBytes in the options of the store.')
      }
      bytes += part.byteLength
      return await sendPart(s3, key, uploadId, index + 1, part, partSignal)
    })
    return { completed, bytes }
  })
}

/** Whether the server refuses to complete a write-once upload where an object is, tried on an object that is removed again. */
export async function refusesUploadOverObject(
  s3: S3Connection,
  key: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const parts = async function* () {
    yield Buffer.from('one small part')
  }
  try {
    await uploadParts(s3, key, parts(), { onlyIf: 'absent', signal })
    await uploadParts(s3, key, parts(), { onlyIf: 'absent', signal })
    return false
  } catch (error) {
    if (error instanceof PreconditionFailed) return true
    throw error
  } finally {
    await s3.call({ operation: 'delete', key }, (send) => s3.client.send(new DeleteObjectCommand(s3.at(key)), send))
  }
}

/** A version of an object in a bucket of the same server. */
export interface CopySource {
  readonly uri: string
  readonly key: string
  /** As `CopySource` of a request: bucket and key, percent-encoded. */
  readonly path: string
  readonly bytes: number
  readonly etag: string
}

/**
 * Copies an object on the server in parts, for objects over the limit of one request and for conditional copies. No checksum
 * is asked for: the bytes do not leave the server, and servers answer with the checksum of the wrong thing.
 */
export async function copyInParts(
  s3: S3Connection,
  source: CopySource,
  toKey: string,
  options: PutOptions,
): Promise<ObjectInfo> {
  const partBytes = Math.min(s3.options.copyThresholdBytes, copyPartBytes)
  const ranges = cutRanges(source.bytes, Math.max(partBytes, Math.ceil(source.bytes / mostParts)))
  return await inParts(s3, toKey, options, async (uploadId, signal) => {
    const completed = await mapInFlight(ranges, s3.options.partsInFlight, signal, async (range, index, partSignal) => {
      const PartNumber = index + 1
      const { CopyPartResult } = await s3.call(
        { operation: 'copy a part to', key: toKey, signal: partSignal },
        (send) =>
          s3.client.send(
            new UploadPartCopyCommand({
              ...s3.at(toKey),
              UploadId: uploadId,
              PartNumber,
              CopySource: source.path,
              CopySourceIfMatch: source.etag,
              CopySourceRange: range,
            }),
            send,
          ),
        {
          'no-upload': () => {
            throw new UploadLost(s3.uri, toKey)
          },
          'not-found': () => {
            throw new ObjectNotFound(source.uri, source.key)
          },
          precondition: () => {
            throw new PreconditionFailed(source.uri, source.key, { etag: source.etag })
          },
        },
      )
      return { PartNumber, ETag: CopyPartResult?.ETag }
    })
    return { completed, bytes: source.bytes }
  })
}

/** Opens an upload, has its parts sent, and completes it, or aborts it when that fails. */
async function inParts(
  s3: S3Connection,
  key: string,
  { onlyIf, contentType, signal, ChecksumAlgorithm }: PutOptions & { ChecksumAlgorithm?: 'SHA256' | 'CRC32' },
  sendParts: (uploadId: string, signal?: AbortSignal) => Promise<{ completed: CompletedPart[]; bytes: number }>,
): Promise<ObjectInfo> {
  const token = randomUUID()
  // A lost reply leaves an upload without an owner behind; collectLeftovers finds it.
  const { UploadId: uploadId = '' } = await s3.call({ operation: 'begin the upload of', key, signal }, (send) =>
    s3.client.send(
      new CreateMultipartUploadCommand({ ...s3.at(key), ...s3.creation(token, contentType), ChecksumAlgorithm }),
      send,
    ),
  )
  try {
    const { completed, bytes } = await sendParts(uploadId, signal)
    return await complete(s3, key, { uploadId, token, completed, bytes }, { onlyIf, signal })
  } catch (error) {
    // The error on its way to the caller must not wait long for this; what cannot be removed now is collected later.
    await abortUpload(s3, key, uploadId, AbortSignal.timeout(abortLimitMs)).catch(() => {})
    throw error
  }
}

async function sendPart(
  s3: S3Connection,
  key: string,
  uploadId: string,
  PartNumber: number,
  part: Uint8Array,
  signal: AbortSignal,
): Promise<CompletedPart> {
  const sent = await s3.call(
    { operation: 'upload a part of', key, signal },
    (send) =>
      s3.client.send(
        new UploadPartCommand({ ...s3.at(key), ...s3.checksum(), UploadId: uploadId, PartNumber, Body: part }),
        send,
      ),
    {
      'no-upload': () => {
        throw new UploadLost(s3.uri, key)
      },
    },
  )
  const { ETag, ChecksumSHA256, ChecksumCRC32 } = sent
  return { PartNumber, ETag, ChecksumSHA256, ChecksumCRC32 }
}

interface Upload {
  uploadId: string
  token: string
  completed: CompletedPart[]
  bytes: number
}

async function complete(
  s3: S3Connection,
  key: string,
  { uploadId, token, completed, bytes }: Upload,
  { onlyIf, signal }: PutOptions,
): Promise<ObjectInfo> {
  const site = { operation: 'complete the upload of', key, signal }
  const lost = lostCondition(s3, site, token, onlyIf)
  // Completed already and the reply lost, or dropped by the server, for example after a conflict with another writer.
  const gone = async (failure: S3Failure): Promise<ObjectInfo> => {
    const found = await s3.ownWrite(site, token)
    if (found) return found
    if (onlyIf !== undefined && (await s3.head(site))) return await lost(failure)
    throw new UploadLost(s3.uri, key)
  }
  return await s3.call(
    site,
    async (send) => {
      const { ETag } = await s3.client.send(
        new CompleteMultipartUploadCommand({
          ...s3.at(key),
          ...conditionHeaders(onlyIf),
          UploadId: uploadId,
          MultipartUpload: { Parts: completed },
        }),
        send,
      )
      return objectInfo(key, bytes, ETag, undefined)
    },
    { precondition: lost, 'no-upload': gone, ...(onlyIf && { 'not-found': lost }) },
  )
}

/** Removes an unfinished upload; one that is gone already is well. */
export async function abortUpload(
  s3: S3Connection,
  key: string,
  uploadId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await s3.call(
    { operation: 'abort the upload of', key, signal },
    (send) => s3.client.send(new AbortMultipartUploadCommand({ ...s3.at(key), UploadId: uploadId }), send),
    { 'no-upload': () => undefined, 'not-found': () => undefined },
  )
}

async function* cutRanges(bytes: number, partBytes: number): AsyncGenerator<string> {
  for (let start = 0; start < bytes; start += partBytes) {
    yield `bytes=${start}-${Math.min(bytes, start + partBytes) - 1}`
  }
}

/**
 * Runs `work` on each item, `limit` at a time, and gives the results in order. On the first error no more items are taken,
 * running work is told to stop, and the error is thrown when nothing runs any more.
 */
async function mapInFlight<T, R>(
  items: AsyncIterable<T>,
  limit: number,
  signal: AbortSignal | undefined,
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const stop = new AbortController()
  // Not AbortSignal.any: with a signal that lives as long as the process it leaks on Node 20.
  const passOn = () => stop.abort(signal?.reason)
  if (signal?.aborted) passOn()
  signal?.addEventListener('abort', passOn, { once: true })
  const results: R[] = []
  const running = new Set<Promise<void>>()
  try {
    let index = 0
    for await (const item of items) {
      const at = index++
      const one = work(item, at, stop.signal).then((result) => {
        results[at] = result
        running.delete(one)
      })
      // Awaited below; until then a failure must not count as unhandled.
      one.catch(() => {})
      running.add(one)
      if (running.size >= limit) await Promise.race(running)
    }
    await Promise.all(running)
    return results
  } catch (error) {
    stop.abort(error)
    await Promise.allSettled(running)
    throw error
  } finally {
    signal?.removeEventListener('abort', passOn)
  }
}
