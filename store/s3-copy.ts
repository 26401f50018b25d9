import { randomUUID } from 'node:crypto'
import { CopyObjectCommand } from '@aws-sdk/client-s3'
import { ObjectNotFound, PreconditionFailed } from './errors.ts'
import { objectInfo, type S3Connection } from './s3-connection.ts'
import { getObject } from './s3-get.ts'
import { type CopySource, copyInParts } from './s3-multipart.ts'
import { putObject } from './s3-put.ts'
import type { ObjectInfo, PutOptions } from './store.ts'

/**
 * Copies an object within a server. A condition on the target is not part of the classic copy request and servers that do
 * not know it overwrite in silence, so a conditional copy goes by ways whose conditions hold: read and put for a small
 * object, an upload whose parts are copied for a large one.
 */
export async function copyOnServer(
  from: S3Connection,
  fromKey: string,
  to: S3Connection,
  toKey: string,
  options: PutOptions,
): Promise<ObjectInfo> {
  const found = await from.head({ operation: 'copy', key: fromKey, signal: options.signal })
  if (!found) throw new ObjectNotFound(from.uri, fromKey)
  const { bytes, etag } = found.info
  const target = { ...options, contentType: options.contentType ?? found.ContentType }
  if (options.onlyIf !== undefined && bytes <= to.options.partBytes) {
    return await readAndPut(from, fromKey, etag, to, toKey, target)
  }
  const { Bucket, Key } = from.at(fromKey)
  const path = `${Bucket}/${Key}`.split('/').map(encodeURIComponent).join('/')
  const source = { uri: from.uri, key: fromKey, path, bytes, etag }
  if (options.onlyIf !== undefined || bytes > to.options.copyThresholdBytes) {
    return await copyInParts(to, source, toKey, target)
  }
  return await copyAtOnce(to, source, toKey, target)
}

async function copyAtOnce(
  to: S3Connection,
  source: CopySource,
  toKey: string,
  { contentType, signal }: PutOptions,
): Promise<ObjectInfo> {
  const { Tagging, ...creation } = to.creation(randomUUID(), contentType)
  const { CopyObjectResult } = await to.call(
    { operation: 'copy to', key: toKey, signal },
    (send) =>
      to.client.send(
        new CopyObjectCommand({
          ...to.at(toKey),
          ...creation,
          ...to.checksum(),
          ...(Tagging !== undefined && { Tagging, TaggingDirective: 'REPLACE' }),
          CopySource: source.path,
          CopySourceIfMatch: source.etag,
          MetadataDirective: 'REPLACE',
        }),
        send,
      ),
    {
      'not-found': () => {
        throw new ObjectNotFound(source.uri, source.key)
      },
      precondition: () => {
        throw new PreconditionFailed(source.uri, source.key, { etag: source.etag })
      },
    },
  )
  return objectInfo(toKey, source.bytes, CopyObjectResult?.ETag, CopyObjectResult?.LastModified)
}

async function readAndPut(
  from: S3Connection,
  fromKey: string,
  etag: string,
  to: S3Connection,
  toKey: string,
  options: PutOptions,
): Promise<ObjectInfo> {
  const { body } = await getObject(from, fromKey, { ifMatch: etag, signal: options.signal })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return await putObject(to, toKey, Buffer.concat(chunks), options)
}
