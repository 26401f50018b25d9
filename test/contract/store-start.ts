import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3'
import { createOpenStore, parseStoreUri } from '../../store/open-store.ts'
import { createS3Client, resolveS3Options, type S3Options } from '../../store/s3-options.ts'
import type { S3Server } from '../servers/s3-server.ts'
import { type Backend, partBytes } from './store-backend.ts'

/** A backend, and how to end it. */
export interface RunningBackend extends Backend {
  stop(): Promise<void>
}

export async function fileBackend(): Promise<RunningBackend> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-store-'))
  const options = {}
  const open = createOpenStore(options)
  let stores = 0
  return {
    open,
    options,
    racesAtOnce: 1,
    fresh: () => open(pathToFileURL(join(folder, `store ${stores++}`)).href),
    async leaveUnfinishedWrite(store, key) {
      const path = fileURLToPath(`${store.uri}/${key}`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(join(dirname(path), `.~longhaul-tmp-${deadProcessMark}.${stores++}`), 'half an obj')
    },
    stop: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Of another machine, so that only its age can tell; contract and kill tests cover the dead of this one. */
const deadProcessMark = '000000000000.1.1'

const bucket = 'contract'

/** @param endpoint where to reach the server instead of directly, for example through a proxy. */
export async function s3Backend(server: S3Server, overrides: S3Options = {}): Promise<RunningBackend> {
  await server.createBucket(bucket)
  const s3: S3Options = {
    ...server.options(),
    partBytes,
    copyThresholdBytes: partBytes * 3,
    outageBudgetMs: 20_000,
    firstDelayMs: 20,
    longestDelayMs: 500,
    ...overrides,
  }
  const open = createOpenStore({ s3 })
  const resolved = resolveS3Options({ ...s3, endpoint: server.endpoint })
  const client = createS3Client(resolved)
  let stores = 0
  return {
    open,
    options: { s3 },
    racesAtOnce: 1,
    fresh: () => open(`s3://${bucket}/store-${stores++}`),
    async leaveUnfinishedWrite(store, key) {
      const location = parseStoreUri(store.uri)
      const Key = `${location.kind === 's3' ? location.prefix : ''}/${key}`
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }))
      await client.send(
        new UploadPartCommand({ Bucket: bucket, Key, UploadId, PartNumber: 1, Body: Buffer.alloc(1_000) }),
      )
    },
    async stop() {
      client.destroy()
      await open.close()
      await server.stop()
    },
  }
}
