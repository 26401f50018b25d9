import { type Data, makeData, RecordBatch, RecordBatchStreamWriter, type Schema, Struct } from 'apache-arrow'
import { Compression as Codec, Table, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm'
import type { Column } from '../../../domain/columns.ts'
import type { Compression } from '../../../domain/dataset.ts'
import { schemaOf } from './arrow-types.ts'
import { columnBuilder } from './column-builder.ts'

/** Makes an Arrow stream of rows, each a line of JSON: the schema, one batch, the end. */
export function encodeStream(text: Uint8Array, columns: readonly Column[], schema: Schema): Uint8Array {
  const builders = columns.map(({ name, type }) => ({ name, builder: columnBuilder(type) }))
  let rows = 0
  forEachLine(text, (line) => {
    const row = JSON.parse(line) as Record<string, unknown>
    for (const { name, builder } of builders) builder.append(Object.hasOwn(row, name) ? row[name] : null)
    rows++
  })
  const children = builders.map(({ builder }) => builder.finish())
  return streamOf(schema, children, rows)
}

/** The stream of a schema without a batch. */
export function emptyStream(schema: Schema): Uint8Array {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, schema)
  writer.finish()
  return writer.toUint8Array(true)
}

/** How an Arrow stream ends. */
export const endOfStream = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0)

function streamOf(schema: Schema, children: Data[], length: number): Uint8Array {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children })
  const writer = new RecordBatchStreamWriter()
  writer.write(new RecordBatch(schema, data))
  writer.finish()
  return writer.toUint8Array(true)
}

const codecs: Readonly<Record<Compression, Codec>> = {
  none: Codec.UNCOMPRESSED,
  snappy: Codec.SNAPPY,
  gzip: Codec.GZIP,
  zstd: Codec.ZSTD,
}

/** Makes a Parquet file with one row group. */
export function encodeParquet(
  text: Uint8Array,
  columns: readonly Column[],
  metadata: ReadonlyMap<string, string>,
  compression: Compression,
): Uint8Array {
  const table = Table.fromIPCStream(encodeStream(text, columns, schemaOf(columns, metadata)))
  const properties = new WriterPropertiesBuilder()
    .setCompression(codecs[compression])
    .setMaxRowGroupSize(2 ** 31)
    .setCreatedBy('longhaul')
    .build()
  return writeParquet(table, properties)
}

const newline = 10

function forEachLine(text: Uint8Array, visit: (line: string) => void): void {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength)
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(newline, start)
    const end = found < 0 ? bytes.length : found
    if (end > start) visit(bytes.toString('utf8', start, end))
    start = end + 1
  }
}
