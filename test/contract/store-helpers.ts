import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { MalformedObject, ObjectNotFound, PreconditionFailed, WriteOnceConflict } from '../../store/errors.ts'
import { hashObject } from '../../store/hash-object.ts'
import { openObject } from '../../store/open-store.ts'
import { publish } from '../../store/publish.ts'
import { putJson } from '../../store/put-json.ts'
import { readLines } from '../../store/read-lines.ts'
import { readBytes, readJson, readJsonVersion, readText } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { chunked, pattern, sha256, textOf } from './store-arrange.ts'
import { type Backend, type Case, partBytes } from './store-backend.ts'

export function helperCases(check: Case, backend: () => Backend): void {
  check('read an object as bytes and as text', async () => {
    const store = backend().fresh()
    await store.put('object', 'größe')
    expect((await readBytes(store, 'object')).equals(Buffer.from('größe'))).toBe(true)
    expect(await readText(store, 'object')).toBe('größe')
    expect((await readBytes(store, 'object', { range: { start: 2, end: 4 } })).toString()).toBe('ö')
    await expect(readText(store, 'absent')).rejects.toThrow(ObjectNotFound)
    await store.put('binary', Uint8Array.of(0xff, 0xfe))
    await expect(readText(store, 'binary')).rejects.toThrow(MalformedObject)
  })

  check('write and read JSON', async () => {
    const store = backend().fresh()
    await putJson(store, 'value.json', { name: 'größe', list: [1, null] })
    expect(await textOf(store, 'value.json')).toBe('{"name":"größe","list":[1,null]}\n')
    expect(await readJson(store, 'value.json')).toEqual({ name: 'größe', list: [1, null] })
  })

  check('say of what is no JSON where it lies', async () => {
    const store = backend().fresh()
    await store.put('value.json', '{"half":')
    const reading = readJson(store, 'value.json')
    await expect(reading).rejects.toThrow(MalformedObject)
    await expect(reading).rejects.toThrow(`${store.uri}/value.json`)
    await putJson(store, 'value.json', { rows: 'many' })
    const parse = (value: unknown) => {
      if (typeof (value as { rows: unknown }).rows !== 'number') throw new Error('rows is no number')
      return value as { rows: number }
    }
    await expect(readJson(store, 'value.json', parse)).rejects.toThrow('rows is no number')
    await putJson(store, 'value.json', { rows: 3 })
    expect((await readJson(store, 'value.json', parse)).rows).toBe(3)
  })

  check('read JSON with the etag to swap it by', async () => {
    const store = backend().fresh()
    await putJson(store, 'pointer.json', { version: 1 })
    const { value, info } = await readJsonVersion<{ version: number }>(store, 'pointer.json')
    await putJson(store, 'pointer.json', { version: value.version + 1 }, { onlyIf: { etag: info.etag } })
    const stale = putJson(store, 'pointer.json', { version: 9 }, { onlyIf: { etag: info.etag } })
    await expect(stale).rejects.toThrow(PreconditionFailed)
    expect(await readJson(store, 'pointer.json')).toEqual({ version: 2 })
  })

  check('hash an object', async () => {
    const store = backend().fresh()
    const content = pattern(partBytes + 1)
    await store.putStream('object', chunked(content, 1_000_000))
    expect(await hashObject(store, 'object')).toBe(sha256(content))
    await expect(hashObject(store, 'absent')).rejects.toThrow(ObjectNotFound)
  })

  check('publish content once and recognise it', async () => {
    const store = backend().fresh()
    const first = await publish(store, 'object', 'content')
    expect(first).toMatchObject({ sha256: sha256('content'), wasThere: false })
    const again = await publish(store, 'object', Buffer.from('content'))
    expect(again).toMatchObject({ sha256: sha256('content'), wasThere: true, info: { etag: first.info.etag } })
    const streamed = await publish(store, 'object', chunked(Buffer.from('content'), 2))
    expect(streamed).toMatchObject({ sha256: sha256('content'), wasThere: true })
  })

  check('refuse to publish other content, naming both', async () => {
    const store = backend().fresh()
    await publish(store, 'object', 'content')
    for (const other of ['different', chunked(Buffer.from('different'), 2)]) {
      const error = await publish(store, 'object', other).catch((thrown) => thrown)
      expect(error).toBeInstanceOf(WriteOnceConflict)
      expect(error).toMatchObject({ existingSha256: sha256('content'), ownSha256: sha256('different') })
    }
    expect(await textOf(store, 'object')).toBe('content')
  })

  check('publish a large stream once and recognise it', async () => {
    const store = backend().fresh()
    const content = pattern(partBytes * 2 + 3)
    const first = await publish(store, 'object', chunked(content, 700_000))
    expect(first).toMatchObject({ sha256: sha256(content), wasThere: false, info: { bytes: content.length } })
    expect((await publish(store, 'object', chunked(content, 999_999))).wasThere).toBe(true)
  })

  check('read lines', async () => {
    const store = backend().fresh()
    const long = 'x'.repeat(700_000)
    await store.put('lines', `first\n\nthird 日本語\n${long}\nlast without newline`)
    expect(await linesOf(store, 'lines')).toEqual(['first', '', 'third 日本語', long, 'last without newline'])
    await store.put('lines', 'only\n')
    expect(await linesOf(store, 'lines')).toEqual(['only'])
    await store.put('lines', '')
    expect(await linesOf(store, 'lines')).toEqual([])
  })

  check('read compressed lines', async () => {
    const store = backend().fresh()
    const lines = Array.from({ length: 5_000 }, (_, n) => `{"row":${n},"text":"größe"}`)
    await store.put('lines.jsonl.gz', gzipSync(`${lines.join('\n')}\n`))
    expect(await linesOf(store, 'lines.jsonl.gz')).toEqual(lines)
  })

  check('say of broken lines where they lie', async () => {
    const store = backend().fresh()
    const whole = gzipSync(pattern(100_000).toString('hex'))
    await store.put('cut.gz', whole.subarray(0, whole.length / 2))
    await expect(linesOf(store, 'cut.gz')).rejects.toThrow(MalformedObject)
    await store.put('plain.gz', 'not compressed')
    await expect(linesOf(store, 'plain.gz')).rejects.toThrow(MalformedObject)
    await store.put('binary', Buffer.concat([Buffer.from('good\n'), Uint8Array.of(0xff, 10)]))
    await expect(linesOf(store, 'binary')).rejects.toThrow('line 2 is no UTF-8')
    await store.put('long', 'x'.repeat(1_000_000))
    const reading = (async () => {
      for await (const _ of readLines(store, 'long', { longestLineBytes: 10_000 }));
    })()
    await expect(reading).rejects.toThrow('line 1 is longer than 10000 bytes')
  })

  check('break off reading lines early', async () => {
    const store = backend().fresh()
    await store.put('lines.gz', gzipSync('a\nb\nc\n'.repeat(100_000)))
    for (let round = 0; round < 20; round++) for await (const line of readLines(store, 'lines.gz')) if (line) break
    expect(await hashObject(store, 'lines.gz')).toHaveLength(64)
  })

  check('find the store of an object by its URI', async () => {
    const { fresh, open } = backend()
    const written = fresh()
    await written.put('a/größe.json', 'content')
    const { store, key } = openObject(open, `${written.uri}/${encodeIfFile(written.uri, 'a/größe.json')}`)
    expect(await textOf(store, key)).toBe('content')
  })
}

/** A file URI is a URI with everything encoded; S3's is bucket and key as they are. */
function encodeIfFile(uri: string, key: string): string {
  return uri.startsWith('file:') ? encodeURI(key) : key
}

async function linesOf(store: ObjectStore, key: string): Promise<string[]> {
  const lines: string[] = []
  for await (const line of readLines(store, key)) lines.push(line)
  return lines
}
