import { GetObjectTaggingCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { hashObject } from '../../store/hash-object.ts'
import { createOpenStore, type StoreOpener } from '../../store/open-store.ts'
import { createS3Client, resolveS3Options, type S3Options } from '../../store/s3-options.ts'
import { startSeaweedfs } from '../servers/seaweedfs.ts'
import { startVersitygw } from '../servers/versitygw.ts'
import { chunked, pattern, sha256 } from './store-arrange.ts'
import { startedForSuite } from './store-available.ts'
import { partBytes } from './store-backend.ts'

const bucket = 'options'
const large = pattern(partBytes * 2 + 3)
const small = pattern(10_000)

for (const start of [startVersitygw, startSeaweedfs]) {
  describe(`the options of an S3 store (${start.name})`, () => {
    const server = startedForSuite(async () => {
      const started = await start()
      await started.createBucket(bucket)
      return started
    })
    let client: S3Client
    const openers: StoreOpener[] = []

    beforeEach(() => {
      client ??= createS3Client(resolveS3Options(server().options()))
    })

    afterAll(async () => {
      for (const open of openers) await open.close()
      client?.destroy()
    })

    const storeWith = (options: S3Options, prefix: string) => {
      const open = createOpenStore({ s3: { ...server().options(), partBytes, outageBudgetMs: 5_000, ...options } })
      openers.push(open)
      return open(`s3://${bucket}/${prefix}`)
    }

    for (const checksums of ['sha256', 'crc32', 'when-required'] as const) {
      it(`let objects be written, copied and read with checksums: ${checksums}`, async () => {
        const store = storeWith({ checksums, copyThresholdBytes: partBytes }, checksums)
        await store.put('small', small)
        await store.putStream('large', chunked(large, 1_000_000))
        for (const [key, content] of [
          ['small', small],
          ['large', large],
        ] as const) {
          await store.copy(key, `${key}-copy`)
          await store.copy(key, `${key}-copy-once`, { onlyIf: 'absent' })
          for (const each of [key, `${key}-copy`, `${key}-copy-once`]) {
            expect(await hashObject(store, each)).toBe(sha256(content))
          }
        }
      })
    }

    it('keep a SHA-256 with the object', async () => {
      const store = storeWith({}, 'kept')
      await store.put('small', small)
      const head = await client.send(
        new HeadObjectCommand({ Bucket: bucket, Key: 'kept/small', ChecksumMode: 'ENABLED' }),
      )
      expect(head.ChecksumSHA256).toBe(Buffer.from(sha256(small), 'hex').toString('base64'))
    })

    it('tag every object, however it is written', async () => {
      const store = storeWith({ tags: { project: 'longhaul', kind: 'a b/c+d=e' } }, 'tagged')
      await store.put('put', small)
      await store.putStream('streamed', chunked(large, 1_000_000))
      await store.copy('put', 'copied')
      await store.copy('streamed', 'copied-once', { onlyIf: 'absent' })
      for (const key of ['put', 'streamed', 'copied', 'copied-once']) {
        const { TagSet = [] } = await client.send(new GetObjectTaggingCommand({ Bucket: bucket, Key: `tagged/${key}` }))
        expect(Object.fromEntries(TagSet.map(({ Key, Value }) => [Key, Value]))).toEqual({
          project: 'longhaul',
          kind: 'a b/c+d=e',
        })
      }
    })

    it('keep the content type through copies', async () => {
      const store = storeWith({ copyThresholdBytes: partBytes }, 'typed')
      await store.put('put', small, { contentType: 'application/json' })
      await store.putStream('streamed', chunked(large, 1_000_000), { contentType: 'application/json' })
      await store.copy('put', 'copied')
      await store.copy('streamed', 'copied-in-parts')
      for (const key of ['put', 'streamed', 'copied', 'copied-in-parts']) {
        const { ContentType } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `typed/${key}` }))
        expect(ContentType).toBe('application/json')
      }
    })
  })
}
