import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Compression } from '../../domain/dataset.ts'
import { readerOf } from '../../formats/byte-reader.ts'
import { cutText, type TextBlock } from '../../formats/text/cut-text.ts'
import { LineFinder } from '../../formats/text/row-finder.ts'
import { forEachSpan, isBlankSpan } from '../../formats/text/spans.ts'
import type { CallOptions, ObjectStore } from '../../store/store.ts'
import { DatasetDamaged } from './errors.ts'

/** A file of rows, as the records describe it. */
export interface DataFile {
  readonly store: ObjectStore
  readonly key: string
  readonly compression: Compression
  /** What its bytes must be; left out where nobody knows yet. */
  readonly expected?: { readonly bytes: number; readonly sha256: string }
}

export interface ReadSizes {
  readonly blockBytes: number
  readonly maxRowBytes: number
}

/** What was seen of a file once its last block was taken. */
export interface ReadFacts {
  bytes: number
  sha256: string
}

/**
 * The lines of a file in blocks. The bytes are hashed on the way: a file that is not what the records say throws
 * `DatasetDamaged` at its end at the latest, before anybody can take the rows for good.
 */
export async function* readBlocks(
  file: DataFile,
  sizes: ReadSizes,
  options: CallOptions & { onRead?: (facts: ReadFacts) => void } = {},
): AsyncGenerator<TextBlock> {
  const { store, key, expected } = file
  const uri = `${store.uri}/${key}`
  const hash = createHash('sha256')
  let bytes = 0
  const { body } = await store.get(key, options)
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  try {
    const text = file.compression === 'gzip' ? gunzipped(hashed()) : hashed()
    for await (const block of cutText(readerOf(text), new LineFinder(), sizes)) {
      if (block.isCut)
        throw new DatasetDamaged(uri, `has a row of more than ${sizes.maxRowBytes} bytes (${block.firstRow})`)
      yield block
    }
  } catch (error) {
    if (!isFromZlib(error)) throw error
    throw new DatasetDamaged(uri, `is not whole: ${error.message}`)
  }
  const facts = { bytes, sha256: hash.digest('hex') }
  if (expected && facts.bytes !== expected.bytes) {
    throw new DatasetDamaged(uri, `has ${facts.bytes} bytes instead of ${expected.bytes}`)
  }
  if (expected && facts.sha256 !== expected.sha256) {
    throw new DatasetDamaged(uri, `has changed: its SHA-256 is ${facts.sha256} instead of ${expected.sha256}`)
  }
  options.onRead?.(facts)
}

async function* gunzipped(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = Readable.from(source, { objectMode: false })
  const gunzip = createGunzip()
  // Its errors surface in the iteration below.
  pipeline(input, gunzip, () => {})
  try {
    yield* gunzip as AsyncIterable<Uint8Array>
  } finally {
    input.destroy()
    gunzip.destroy()
  }
}

function isFromZlib(error: unknown): error is Error {
  return error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('Z_')
}

/** Calls with every line that is not blank: its bytes without the newline, and its row. */
export function forEachRow(
  { bytes, spans, firstRow }: TextBlock,
  visit: (line: Uint8Array, row: number) => void,
): void {
  forEachSpan(spans, (start, end, n) => {
    if (isBlankSpan(bytes, start, end)) return
    visit(bytes.subarray(start, bytes[end - 1] === 13 ? end - 1 : end), firstRow + n)
  })
}
