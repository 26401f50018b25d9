import { randomUUID } from 'node:crypto'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { conditionHeaders, lostCondition } from './s3-conditions.ts'
import { objectInfo, type S3Connection } from './s3-connection.ts'
import { uploadParts } from './s3-multipart.ts'
import type { ObjectInfo, PutOptions } from './store.ts'

/** Writes a whole object in one request. */
export async function putObject(
  s3: S3Connection,
  key: string,
  body: Uint8Array,
  { onlyIf, contentType, signal }: PutOptions,
): Promise<ObjectInfo> {
  const token = randomUUID()
  const site = { operation: 'put', key, signal }
  const lost = lostCondition(s3, site, token, onlyIf)
  return await s3.call(
    site,
    async (options) => {
      const { ETag } = await s3.client.send(
        new PutObjectCommand({
          ...s3.at(key),
          ...s3.creation(token, contentType),
          ...s3.checksum(),
          ...conditionHeaders(onlyIf),
          Body: body,
        }),
        options,
      )
      return objectInfo(key, body.byteLength, ETag, undefined)
    },
    // If-Match on an object that is gone is answered with 404.
    { precondition: lost, ...(onlyIf && { 'not-found': lost }) },
  )
}

/** Writes an object of unknown length: in one request if it is small, else in parts. */
export async function putObjectStream(
  s3: S3Connection,
  key: string,
  body: AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<ObjectInfo> {
  const parts = cutParts(body, s3.options.partBytes)
  try {
    const first = await parts.next()
    const second = first.done ? first : await parts.next()
    if (second.done) return await putObject(s3, key, first.done ? new Uint8Array() : first.value, options)
    return await uploadParts(s3, key, prepend([first.value as Buffer, second.value], parts), options)
  } finally {
    // Lets the source of the stream clean up when the upload ended before it did.
    await parts.return(undefined)
  }
}

/** Cuts a stream into buffers of `partBytes`, the last one shorter. Holds one part at a time. */
async function* cutParts(body: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Buffer, undefined> {
  let part: Buffer | undefined
  let filled = 0
  for await (const chunk of body) {
    for (let taken = 0; taken < chunk.length; ) {
      part ??= Buffer.allocUnsafeSlow(partBytes)
      const step = Math.min(chunk.length - taken, partBytes - filled)
      part.set(chunk.subarray(taken, taken + step), filled)
      filled += step
      taken += step
      if (filled === partBytes) {
        yield part
        part = undefined
        filled = 0
      }
    }
  }
  if (part) yield part.subarray(0, filled)
  return undefined
}

async function* prepend(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first
  yield* rest
}
