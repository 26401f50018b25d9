import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { MalformedObject } from './errors.ts'
import type { CallOptions, ObjectStore } from './store.ts'

export interface ReadLinesOptions extends CallOptions {
  /** Default: whether the key ends with `.gz`. */
  readonly gunzip?: boolean
  /** A longer line throws `MalformedObject`, so that memory stays bounded. Default 256 MiB. */
  readonly longestLineBytes?: number
}

/**
 * The lines of a text object without their newlines, one at a time; a last line without a newline counts, an empty rest
 * does not. Throws `ObjectNotFound`, and `MalformedObject` for broken compression, no UTF-8, or too long a line.
 */
export async function* readLines(
  store: ObjectStore,
  key: string,
  options: ReadLinesOptions = {},
): AsyncGenerator<string> {
  const longest = options.longestLineBytes ?? 256 * 1024 * 1024
  const { body } = await store.get(key, { signal: options.signal })
  const bytes = (options.gunzip ?? key.endsWith('.gz')) ? gunzipped(store, key, body) : body
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let number = 1
  const decode = (line: Uint8Array) => {
    try {
      return decoder.decode(line)
    } catch (error) {
      throw new MalformedObject(store.uri, key, `line ${number} is no UTF-8`, error)
    }
  }
  let pieces: Uint8Array[] = []
  let pending = 0
  for await (const chunk of bytes) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      yield decode(Buffer.concat([...pieces, chunk.subarray(start, end)]))
      number++
      pieces = []
      pending = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    pieces.push(chunk.subarray(start))
    pending += chunk.length - start
    if (pending > longest) {
      throw new MalformedObject(store.uri, key, `line ${number} is longer than ${longest} bytes`)
    }
  }
  if (pending > 0) yield decode(Buffer.concat(pieces))
}

async function* gunzipped(store: ObjectStore, key: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const source = Readable.from(body, { objectMode: false })
  const gunzip = createGunzip()
  // The pipeline's errors surface in the iteration below.
  pipeline(source, gunzip, () => {})
  try {
    yield* gunzip as AsyncIterable<Buffer>
  } catch (error) {
    const isFromZlib = error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('Z_')
    if (!isFromZlib) throw error
    throw new MalformedObject(store.uri, key, `its compression is broken (${error.message})`, error)
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}
