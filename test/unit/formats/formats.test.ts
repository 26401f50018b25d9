import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { InvalidText } from '../../../formats/conversation/content.ts'
import { readRows } from './read-rows.ts'

const folder = fileURLToPath(new URL('../../fixtures/formats', import.meta.url))
const fixture = (name: string) => join(folder, name)

/** The rows without what formats may differ in: 64-bit integers, and columns that are null. */
async function conversations(name: string, options = {}) {
  const rows = await readRows(fixture(name), options)
  return rows.map(({ row, value }) => ({ row, id: value?.id, messages: value?.messages, labels: value?.labels }))
}

describe('the same rows come out of every format', () => {
  it.each([
    'rows.json',
    'rows.jsonl.gz',
    'rows.jsonl.zst',
    'rows.jsonl.bz2',
    'rows.jsonl.xz',
    'rows-none.parquet',
    'rows-snappy.parquet',
    'rows-gzip.parquet',
    'rows-zstd.parquet',
    'rows-brotli.parquet',
    'rows-lz4.parquet',
    'rows-pages-v2.parquet',
    'rows-stream.arrow',
    'rows-file.arrow',
  ])('%s', async (name) => {
    expect(await conversations(name)).toEqual(await conversations('rows.jsonl'))
  })

  it('whatever the size of the blocks', async () => {
    const whole = await readRows(fixture('rows.jsonl'))
    for (const name of ['rows.jsonl', 'rows.json', 'rows.jsonl.zst']) {
      for (const blockBytes of [1, 7, 64, 300, 1000]) {
        const rows = await readRows(fixture(name), { blockBytes })
        expect(rows.map(({ value }) => value)).toEqual(whole.map(({ value }) => value))
      }
    }
  })

  it('a folder that save_to_disk wrote', async () => {
    const { localFiles } = await import('../../../formats/places/local-files.ts')
    const files = await localFiles(fixture('saved-to-disk'))
    expect(files.map((file) => file.name)).toEqual(['data-00000-of-00002.arrow', 'data-00001-of-00002.arrow'])
    const rows = (await Promise.all(files.map((file) => readRows(file.uri)))).flat()
    expect(rows.map(({ value }) => value?.id)).toEqual(Array.from({ length: 7 }, (_, n) => `row-${n + 1}`))
  })
})

describe('binary formats', () => {
  it('keep 64-bit integers that a number cannot hold', async () => {
    for (const name of ['rows-none.parquet', 'rows-stream.arrow']) {
      const [first] = await readRows(fixture(name))
      expect(first?.value?.number).toBe(2n ** 60n + 1n)
    }
  })

  it('read only the columns that anything is wanted of', async () => {
    for (const name of ['rows-snappy.parquet', 'rows-file.arrow']) {
      const [first] = await readRows(fixture(name), { columns: ['id', 'messages', 'prompt'] })
      expect(Object.keys(first?.value ?? {})).toEqual(['id', 'messages'])
    }
  })

  it('say of a text that it is not UTF-8 instead of changing it', async () => {
    const rows = await readRows(fixture('not-utf8.parquet'))
    expect(rows.map(({ value }) => value?.prompt)).toEqual(['fine', expect.any(InvalidText)])
  })
})
