import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { localFiles } from '../../../formats/places/local-files.ts'
import { spoolInto } from '../../../formats/places/spool.ts'
import { storeFiles } from '../../../formats/places/store-files.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { prepared, temporaryFolder } from '../prepare/prepared.ts'

const row = (text: string) => `${JSON.stringify({ prompt: text })}\n`

/** A folder with files of these names, each with one row of its name. */
function folderOf(...names: string[]): string {
  const folder = temporaryFolder()
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), row(name))
  }
  return folder
}

describe('local sources', () => {
  const names = [
    'b.jsonl',
    'a/part-1.jsonl',
    'a/part-2.jsonl.gz',
    'c.parquet',
    'dataset_info.json',
    'state.json',
    'README.md',
    '.hidden.jsonl',
    '.cache/x.jsonl',
    '_SUCCESS.json',
  ]

  it('a folder means all its data files, in the order of their names', async () => {
    const folder = folderOf(...names)
    const found = ['a/part-1.jsonl', 'a/part-2.jsonl.gz', 'b.jsonl', 'c.parquet']
    expect((await localFiles(folder)).map(({ name }) => name)).toEqual(found)
    expect((await localFiles(pathToFileURL(folder).href)).map(({ name }) => name)).toEqual(found)
  })

  it('a glob means what it matches', async () => {
    const folder = folderOf(...names)
    const matched = async (pattern: string) => (await localFiles(`${folder}/${pattern}`)).map(({ name }) => name)
    expect(await matched('*.jsonl')).toEqual(['b.jsonl'])
    expect(await matched('**/*.jsonl')).toEqual(['a/part-1.jsonl', 'b.jsonl'])
    expect(await matched('a/part-[12].*')).toEqual(['part-1.jsonl', 'part-2.jsonl.gz'])
    expect(await matched('{a/part-2,b}.jsonl*')).toEqual(['a/part-2.jsonl.gz', 'b.jsonl'])
  })

  it('a file whose name looks like a glob is that file', async () => {
    const folder = folderOf('data[1].jsonl', 'data1.jsonl')
    expect((await localFiles(`${folder}/data[1].jsonl`)).map(({ name }) => name)).toEqual(['data[1].jsonl'])
  })

  it('what gives nothing to read is said with its URI', async () => {
    const folder = folderOf('README.md')
    await expect(localFiles(folder)).rejects.toThrow(`${folder} holds no data files`)
    await expect(localFiles(`${folder}/*.jsonl`)).rejects.toThrow('matches no file')
    await expect(localFiles(`${folder}/no.jsonl`)).rejects.toThrow('does not exist')
  })
})

describe('sources in a bucket', () => {
  const open = createOpenStore()

  it('an object, all data files below a prefix, or what a glob matches', async () => {
    const folder = folderOf(
      'sets/a/1.jsonl',
      'sets/a/2.parquet',
      'sets/a/state.json',
      'sets/ab/3.jsonl',
      'sets/b[1].jsonl',
    )
    const spool = spoolInto(temporaryFolder())
    const found = async (uri: string) =>
      (await storeFiles(uri, () => open(`file://${folder}`), spool)).map(({ uri, name }) => [uri, name])
    expect(await found('s3://bucket/sets/a')).toEqual([
      ['s3://bucket/sets/a/1.jsonl', '1.jsonl'],
      ['s3://bucket/sets/a/2.parquet', '2.parquet'],
    ])
    expect(await found('s3://bucket/sets/a/1.jsonl')).toEqual([['s3://bucket/sets/a/1.jsonl', '1.jsonl']])
    expect(await found('s3://bucket/sets/b[1].jsonl')).toEqual([['s3://bucket/sets/b[1].jsonl', 'b[1].jsonl']])
    expect((await found('s3://bucket/sets/*/*.jsonl')).map(([, name]) => name)).toEqual(['a/1.jsonl', 'ab/3.jsonl'])
    expect((await found('s3://bucket')).map(([, name]) => name)).toHaveLength(4)
    await expect(found('s3://bucket/none/*')).rejects.toThrow('matches no object')
  })

  it('are read by a run, formats that need a local copy too', async () => {
    const folder = temporaryFolder()
    const fixtures = fileURLToPath(new URL('../../fixtures/formats/', import.meta.url))
    for (const name of ['rows.jsonl.zst', 'rows-snappy.parquet', 'rows-stream.arrow']) {
      writeFileSync(join(folder, name), readFileSync(join(fixtures, name)))
    }
    const { plan } = await prepared(
      { sources: ['s3://bucket/*'] },
      { deps: { openStore: (uri) => open(uri === 's3://bucket' ? `file://${folder}` : uri) } },
    )
    expect(plan.sources[0]).toMatchObject({ read: 21, prompts: 7, duplicates: 14 })
  })
})

describe('sources behind http', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.closeAllConnections()
    server?.close()
  })

  /** Serves one content with byte ranges; the first answers end early, after so many bytes. */
  async function serve(content: Buffer, breakAfter: number[] = []) {
    const ranges: string[] = []
    server = createServer((request, response) => {
      if (request.url === '/none.jsonl') {
        response.writeHead(404).end()
        return
      }
      const [, first] = /bytes=(\d+)-/.exec(request.headers.range ?? '') ?? []
      const start = Number(first ?? 0)
      response.writeHead(first === undefined ? 200 : 206, {
        etag: '"v1"',
        'content-length': content.length - start,
        ...(first !== undefined && { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` }),
      })
      if (request.method === 'HEAD') {
        response.end()
        return
      }
      ranges.push(request.headers.range ?? '')
      const limit = breakAfter.shift()
      if (limit === undefined) response.end(content.subarray(start))
      else response.write(content.subarray(start, start + limit), () => response.destroy())
    })
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ranges }
  }

  it('are read, and taken up again where a connection broke', async () => {
    const content = Buffer.from(Array.from({ length: 30_000 }, (_, n) => row(`question ${n}`)).join(''))
    const { url, ranges } = await serve(content, [400_000])
    const { plan, prompts } = await prepared({ sources: [`${url}/set%201.jsonl`] })
    expect(plan.sources[0]).toMatchObject({ name: 'set-201', read: 30_000, prompts: 30_000 })
    expect(prompts[0]?.provenance.file).toBe('set 1.jsonl')
    expect(ranges).toEqual(['', expect.stringMatching(/^bytes=\d{6}-/)])
  })

  it('that answer with an error are not data', async () => {
    const { url } = await serve(Buffer.alloc(0))
    await expect(prepared({ sources: [`${url}/none.jsonl`] })).rejects.toThrow('was answered with status 404')
  })
})
