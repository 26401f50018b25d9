import { describe, expect, it } from 'vitest'
import '../servers/quiet-sdk.ts'
import { ConditionalPutsIgnored, InvalidKey, UnsupportedStoreUri } from '../../store/errors.ts'
import { createOpenStore, openObject, parseStoreUri } from '../../store/open-store.ts'
import { requireConditionalPuts } from '../../store/probe.ts'
import { resolveS3Options } from '../../store/s3-options.ts'
import type { ObjectStore } from '../../store/store.ts'

const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }

describe('the URI of a store', () => {
  const readable: [uri: string, location: object][] = [
    ['file:///data/longhaul', { kind: 'file', path: '/data/longhaul' }],
    ['file:///data/longhaul//', { kind: 'file', path: '/data/longhaul' }],
    ['file:///data/gr%C3%B6%C3%9Fe%20x', { kind: 'file', path: '/data/größe x' }],
    ['file:///', { kind: 'file', path: '/' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://my-bucket.name/a/b c/', { kind: 's3', bucket: 'my-bucket.name', prefix: 'a/b c' }],
  ]
  for (const [uri, location] of readable) {
    it(`may be ${uri}`, () => {
      expect(parseStoreUri(uri)).toEqual(location)
    })
  }

  const unreadable: [uri: string, hint: string][] = [
    ['/data/longhaul', 'file:///data/longhaul'],
    ['gs://bucket/prefix', 'neither'],
    ['', 'neither'],
    ['s3://', 'no bucket name'],
    ['s3:///prefix', 'no bucket name'],
    ['file://host/data', 'host'],
  ]
  for (const [uri, hint] of unreadable) {
    it(`cannot be ${JSON.stringify(uri)}`, () => {
      expect(() => parseStoreUri(uri)).toThrow(UnsupportedStoreUri)
      expect(() => parseStoreUri(uri)).toThrow(hint)
    })
  }

  it('cannot hold what no key can hold', () => {
    expect(() => parseStoreUri('s3://bucket/a//b')).toThrow(InvalidKey)
    expect(() => parseStoreUri('s3://bucket/../b')).toThrow(InvalidKey)
  })

  it('gives the same store each time it is opened', async () => {
    const open = createOpenStore({ s3: { region: 'us-east-1', credentials } })
    expect(open('s3://bucket/prefix/')).toBe(open('s3://bucket/prefix'))
    expect(open('file:///data/x')).toBe(open('file:///data/x/'))
    expect(open('s3://bucket/prefix').uri).toBe('s3://bucket/prefix')
    expect(open('s3://bucket')).not.toBe(open('s3://bucket/prefix'))
    await open.close()
  })

  it('of an object is its store and its key', async () => {
    const open = createOpenStore({ s3: { region: 'us-east-1', credentials } })
    const onS3 = openObject(open, 's3://bucket/runs/my run/manifest.json')
    expect([onS3.store.uri, onS3.key]).toEqual(['s3://bucket', 'runs/my run/manifest.json'])
    const inFolder = openObject(open, 'file:///data/runs/my%20run/mani%20fest.json')
    expect([inFolder.store.uri, inFolder.key]).toEqual(['file:///data/runs/my%20run', 'mani fest.json'])
    expect(() => openObject(open, 's3://bucket')).toThrow(UnsupportedStoreUri)
    await open.close()
  })
})

describe('the options of an S3 store', () => {
  it('are bounded by what S3 takes', () => {
    expect(() => resolveS3Options({ partBytes: 1_000_000 })).toThrow(RangeError)
    expect(resolveS3Options({ endpoint: 'http://127.0.0.1:1' }).forcePathStyle).toBe(true)
    expect(resolveS3Options().forcePathStyle).toBe(false)
  })
})

describe('a store that ignores conditions', () => {
  it('is refused at start, by name of what it ignores', async () => {
    const objects = new Map<string, number>()
    let version = 0
    const careless = {
      uri: 's3://careless',
      put: async (key: string) => {
        objects.set(key, ++version)
        return { key, bytes: 1, etag: `${version}`, modifiedAt: new Date() }
      },
      head: async (key: string) => ({ key, bytes: 1, etag: `${objects.get(key)}`, modifiedAt: new Date() }),
      delete: async (key: string) => void objects.delete(key),
    } as unknown as ObjectStore
    const error = await requireConditionalPuts(careless).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ConditionalPutsIgnored)
    expect(error.ignored).toEqual(['If-None-Match', 'If-Match'])
    expect(objects.size).toBe(0)
  })
})
