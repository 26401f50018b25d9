import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import '../servers/quiet-sdk.ts'
import { ObjectCorrupt, StoreRefused, StoreUnavailable } from '../../store/errors.ts'
import { createOpenStore } from '../../store/open-store.ts'
import type { S3Options } from '../../store/s3-options.ts'
import type { ObjectStore } from '../../store/store.ts'

interface Request {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

interface Reply {
  status: number
  headers?: Record<string, string>
  body?: string
}

/** A server that notes every request and answers as it is told, to see what goes over the wire. */
let server: Server
let requests: Request[] = []
let reply: (request: Request) => Reply

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body })
    const answer = reply({ method, url, headers, body })
    response.writeHead(answer.status, answer.headers)
    response.end(method === 'HEAD' ? undefined : answer.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

beforeEach(() => {
  requests = []
  reply = () => ({ status: 200, headers: { etag: '"tag"' } })
})

function storeWith(options: S3Options = {}): ObjectStore {
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
  const quick = { attemptsPerCall: 1, outageBudgetMs: 100, firstDelayMs: 1, longestDelayMs: 10 }
  return createOpenStore({ s3: { endpoint, region: 'us-east-1', credentials, ...quick, ...options } })(
    's3://bucket/prefix',
  )
}

const sha256Of = (text: string) => createHash('sha256').update(text).digest('base64')

describe('a put', () => {
  it('goes to the bucket in the path, with a token and the SHA-256 of its content', async () => {
    await storeWith().put('folder/größe +%.json', 'content', { contentType: 'application/json' })
    const [request] = requests
    expect(request).toMatchObject({ method: 'PUT', body: 'content' })
    expect(request?.url).toMatch(/^\/bucket\/prefix\/folder\/gr%C3%B6%C3%9Fe%20%2B%25\.json(\?|$)/)
    expect(request?.headers['content-type']).toBe('application/json')
    expect(request?.headers['x-amz-checksum-sha256']).toBe(sha256Of('content'))
    expect(request?.headers['x-amz-meta-longhaul-token']).toMatch(/^[0-9a-f-]{36}$/)
    expect(request?.headers['if-none-match']).toBeUndefined()
  })

  it('carries its condition', async () => {
    await storeWith().put('object', 'content', { onlyIf: 'absent' })
    await storeWith().put('object', 'content', { onlyIf: { etag: '"old"' } })
    expect(requests.map(({ headers }) => [headers['if-none-match'], headers['if-match']])).toEqual([
      ['*', undefined],
      [undefined, '"old"'],
    ])
  })

  it('carries a fresh token each time, and the same one when it is repeated', async () => {
    let failures = 2
    reply = () => (failures-- > 0 ? { status: 503 } : { status: 200, headers: { etag: '"tag"' } })
    await storeWith().put('object', 'content')
    await storeWith().put('object', 'content')
    const tokens = requests.map(({ headers }) => headers['x-amz-meta-longhaul-token'])
    expect(tokens.length).toBe(4)
    expect(new Set(tokens.slice(0, 3)).size).toBe(1)
    expect(tokens[3]).not.toBe(tokens[0])
  })

  it('leaves checksums out where the server does not know them', async () => {
    await storeWith({ checksums: 'when-required' }).put('object', 'content')
    await storeWith({ checksums: 'crc32' }).put('object', 'content')
    const sums = requests.map(({ headers }) => Object.keys(headers).filter((name) => name.startsWith('x-amz-checksum')))
    expect(sums).toEqual([[], ['x-amz-checksum-crc32']])
  })

  it('asks for encryption and carries tags', async () => {
    const tags = { project: 'größe & mehr', kept: 'yes' }
    await storeWith({ encryption: { kind: 'AES256' }, tags }).put('object', 'content')
    await storeWith({ encryption: { kind: 'aws:kms', keyId: 'my-key', useBucketKey: true } }).put('object', 'content')
    const [first, second] = requests
    expect(first?.headers['x-amz-server-side-encryption']).toBe('AES256')
    expect(Object.fromEntries(new URLSearchParams(`${first?.headers['x-amz-tagging']}`))).toEqual(tags)
    expect(second?.headers).toMatchObject({
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'my-key',
      'x-amz-server-side-encryption-bucket-key-enabled': 'true',
    })
    expect(second?.headers['x-amz-tagging']).toBeUndefined()
  })
})

describe('a get', () => {
  it('refuses content that does not have the checksum it was stored with', async () => {
    reply = () => ({
      status: 200,
      headers: { etag: '"tag"', 'x-amz-checksum-sha256': sha256Of('what was written') },
      body: 'what is read now',
    })
    const { body } = await storeWith().get('object')
    const reading = (async () => {
      for await (const _ of body);
    })()
    await expect(reading).rejects.toThrow(ObjectCorrupt)
    await expect(reading).rejects.toThrow('s3://bucket/prefix/object')
  })

  it('refuses a server that ignores the range', async () => {
    reply = () => ({ status: 200, headers: { etag: '"tag"' }, body: 'the whole object' })
    await expect(storeWith().get('object', { range: { start: 4 } })).rejects.toThrow(StoreRefused)
  })

  it('goes on when its connection ends early without an error', async () => {
    const content = 'abcdefghijklmnopqrstuvwxyz'
    reply = ({ headers }): Reply => {
      const start = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0)
      if (start === 0)
        return {
          status: 200,
          headers: { etag: '"tag"', 'content-length': '26', connection: 'close' },
          body: content.slice(0, 10),
        }
      const range = `bytes ${start}-25/26`
      return { status: 206, headers: { etag: '"tag"', 'content-range': range }, body: content.slice(start) }
    }
    const { body } = await storeWith({ checksums: 'when-required', outageBudgetMs: 5_000, idleTimeoutMs: 300 }).get(
      'object',
    )
    let read = ''
    for await (const chunk of body) read += Buffer.from(chunk).toString()
    expect(read).toBe(content)
    expect(requests.map(({ headers }) => [headers.range, headers['if-match']])).toEqual([
      [undefined, undefined],
      ['bytes=10-25', '"tag"'],
    ])
  })
})

describe('an answer', () => {
  const xml = (code: string) => `<Error><Code>${code}</Code><Message>said the server</Message></Error>`
  const cases: [status: number, code: string, expected: typeof StoreRefused | typeof StoreUnavailable][] = [
    [403, 'AccessDenied', StoreRefused],
    [403, 'InvalidAccessKeyId', StoreRefused],
    [400, 'InvalidArgument', StoreRefused],
    [501, 'NotImplemented', StoreRefused],
    [409, 'InvalidBucketState', StoreRefused],
    [400, 'RequestTimeout', StoreUnavailable],
    [400, 'BadDigest', StoreUnavailable],
    [400, 'ExpiredToken', StoreUnavailable],
    [403, 'RequestTimeTooSkewed', StoreUnavailable],
    [409, 'OperationAborted', StoreUnavailable],
    [429, 'TooManyRequests', StoreUnavailable],
    [500, 'InternalError', StoreUnavailable],
    [503, 'SlowDown', StoreUnavailable],
  ]
  for (const [status, code, expected] of cases) {
    it(`${status} ${code} ends a put with ${expected.name}`, async () => {
      reply = () => ({ status, headers: { 'content-type': 'application/xml' }, body: xml(code) })
      const error = await storeWith()
        .put('object', 'content')
        .catch((thrown) => thrown)
      expect(error).toBeInstanceOf(expected)
      expect(error.message).toContain('said the server')
      // One that passes was tried again, one that does not was not.
      expect(requests.length > 1).toBe(expected === StoreUnavailable)
    })
  }

  it('that is a page of a gateway passes', async () => {
    let failures = 1
    const page = { status: 502, headers: { 'content-type': 'text/html' }, body: '<html><h1>Bad Gateway</h1>' }
    reply = () => (failures-- > 0 ? page : { status: 200, headers: { etag: '"tag"' } })
    await storeWith().put('object', 'content')
    expect(requests.length).toBe(2)
  })

  it('to a head that gives no reason is asked for by a get', async () => {
    reply = ({ method }) => (method === 'HEAD' ? { status: 403 } : { status: 403, body: xml('AccessDenied') })
    await expect(storeWith().head('object')).rejects.toMatchObject({ code: 'AccessDenied' })
    reply = ({ method }) =>
      method === 'HEAD'
        ? { status: 400 }
        : { status: 206, headers: { etag: '"tag"', 'content-range': 'bytes 0-0/26' }, body: 'a' }
    expect(await storeWith().head('object')).toMatchObject({ bytes: 26, etag: '"tag"' })
  })
})
