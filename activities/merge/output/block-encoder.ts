import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { compress as zstd } from '@mongodb-js/zstd'
import type { Column } from '../../../domain/columns.ts'
import type { Output } from '../../../domain/dataset.ts'
import { hfFeatures } from '../../../domain/hf-features.ts'
import { schemaOf } from '../columnar/arrow-types.ts'
import { emptyStream, encodeParquet, encodeStream, endOfStream } from '../columnar/encode-columns.ts'

/** Makes of rows, each a line of JSON, what will lie in a file. Blocks of a file are encoded on their own and put together. */
export type BlockEncoder = (text: Uint8Array, columns: readonly Column[]) => Promise<Uint8Array>

const gzipBytes = promisify(gzip)

/** Near the best size at a third of the time of the default level. */
const gzipLevel = 4
const zstdLevel = 3

export function blockEncoder({ format, compression }: Output): BlockEncoder {
  switch (format) {
    case 'jsonl':
      return textEncoder(compression)
    case 'arrow':
      return async (text, columns) => {
        const schema = schemaOf(columns, schemaMetadata(columns))
        const stream = encodeStream(text, columns, schema)
        return stream.subarray(schemaBytes(columns).length, stream.length - endOfStream.length)
      }
    case 'parquet':
      return async (text, columns) => encodeParquet(text, columns, schemaMetadata(columns), compression)
  }
}

function textEncoder(compression: Output['compression']): BlockEncoder {
  if (compression === 'gzip') return (text) => gzipBytes(text, { level: gzipLevel })
  if (compression === 'zstd') return (text) => zstd(Buffer.from(text.buffer, text.byteOffset, text.length), zstdLevel)
  return async (text) => text
}

/** How an Arrow stream of columns begins. */
export function schemaBytes(columns: readonly Column[]): Uint8Array {
  const empty = emptyStream(schemaOf(columns, schemaMetadata(columns)))
  return empty.subarray(0, empty.length - endOfStream.length)
}

/** What `datasets` looks for to restore its features. */
function schemaMetadata(columns: readonly Column[]): Map<string, string> {
  return new Map([['huggingface', JSON.stringify({ info: { features: hfFeatures(columns) } })]])
}
