import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Journal, type JournalRow } from '../../../activities/generate/journal.ts'
import { readEntries, readJournal } from '../../../activities/generate/journal-reader.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-journal-'))
  file = join(folder, 'e1.journal')
})
afterEach(() => rm(folder, { recursive: true }))

const row = (promptId: string, text = ''): JournalRow => ({
  kind: 'S',
  promptId,
  inputTokens: 3,
  outputTokens: 5,
  isTruncated: false,
  json: JSON.stringify({ promptId, text }),
})

async function written(rows: JournalRow[]): Promise<void> {
  const journal = await Journal.create(file)
  for (const each of rows) journal.append(each)
  await journal.close()
}

async function idsIn(): Promise<string[]> {
  const ids: string[] = []
  for await (const entry of readJournal(file)) ids.push(entry.promptId)
  return ids
}

describe('a journal', () => {
  it('gives back what was appended, text and numbers alike', async () => {
    await written([row('a', 'naïve 😀   \r\n line'), { ...row('b'), kind: 'F', isTruncated: true }])
    const entries = []
    for await (const entry of readJournal(file)) entries.push(entry)
    expect(entries).toMatchObject([
      { kind: 'S', promptId: 'a', inputTokens: 3, outputTokens: 5, isTruncated: false },
      { kind: 'F', promptId: 'b', isTruncated: true },
    ])
    const texts = []
    for await (const { json } of readEntries(entries)) texts.push(JSON.parse(json.toString()).text)
    expect(texts).toEqual(['naïve 😀   \r\n line', ''])
  })

  it('is on disk after a flush, without being closed', async () => {
    const journal = await Journal.create(file)
    journal.append(row('a'))
    await journal.flush()
    expect(await idsIn()).toEqual(['a'])
    expect(journal.syncedBytes).toBe((await readFile(file)).length)
    await journal.close()
  })

  it('syncs a full group without being asked', async () => {
    const journal = await Journal.create(file, { maxDelayMs: 1e6, maxRows: 2 })
    journal.append(row('a'))
    journal.append(row('b'))
    await expect.poll(() => journal.syncedBytes).toBeGreaterThan(0)
    expect(await idsIn()).toEqual(['a', 'b'])
    await journal.close()
  })

  it('is never shared by two dispatches', async () => {
    await written([row('a')])
    await expect(Journal.create(file)).rejects.toThrow(/EEXIST/)
  })
})

describe('scenario 19: a torn journal', () => {
  it('loses only the torn line, wherever the tear is', async () => {
    await written([row('a'), row('b', 'some text ü')])
    const whole = await readFile(file)
    const firstLine = whole.indexOf('\n') + 1
    for (let length = 0; length < whole.length; length++) {
      await writeFile(file, whole)
      await truncate(file, length)
      expect(await idsIn()).toEqual(length >= whole.length - 1 ? ['a', 'b'] : length >= firstLine - 1 ? ['a'] : [])
    }
  })

  it('passes over a damaged line and reads on', async () => {
    await written([row('a'), row('b'), row('c')])
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace('"b"', '"x"'))
    expect(await idsIn()).toEqual(['a', 'c'])
  })

  it('reads nothing into garbage', async () => {
    await written([row('a')])
    await appendFile(file, Buffer.from([0, 255, 10, 83, 32, 10]))
    expect(await idsIn()).toEqual(['a'])
  })
})
