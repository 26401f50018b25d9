import { createReadStream, openAsBlob } from 'node:fs'
import { type RecordBatch, RecordBatchReader, type Schema, tableFromIPC } from 'apache-arrow'
import { Compression as Codec, ParquetFile, type RecordBatch as WasmBatch } from 'parquet-wasm'
import type { Column } from '../../../domain/columns.ts'
import type { Compression } from '../../../domain/dataset.ts'
import { BadFile, blamingFile } from '../../../formats/bad-file.ts'
import type { ArrowPiece, ParquetPiece } from '../../../formats/pieces.ts'
import { columnsOfSchema, UnsupportedColumn } from './arrow-types.ts'

/** Rows of a batch as columns. */
export interface ColumnBatch {
  readonly batch: RecordBatch
  /** Row in the file, from 1, of the batch's first. */
  readonly firstRow: number
}

/** What a columnar file says of itself. */
export interface ColumnarFacts {
  readonly columns: Column[]
  /** Metadata of the schema. */
  readonly metadata: ReadonlyMap<string, string>
  /** How its pages are compressed. */
  readonly codec: Compression
}

/** Record batches of a piece, one in memory at a time. Throws `BadFile`. */
export function readBatches(piece: ArrowPiece | ParquetPiece): AsyncGenerator<ColumnBatch> {
  return piece.kind === 'arrow' ? arrowBatches(piece) : parquetBatches(piece)
}

/** Columns and metadata of a local file. Throws `BadFile`. */
export async function columnarFacts(kind: 'arrow' | 'parquet', path: string): Promise<ColumnarFacts> {
  return await blamingFile(() => (kind === 'arrow' ? arrowFacts(path) : parquetFacts(path)))
}

async function arrowFacts(path: string): Promise<ColumnarFacts> {
  const input = createReadStream(path)
  try {
    const reader = await RecordBatchReader.from(input)
    await reader.open()
    return factsOf(reader.schema, 'none')
  } finally {
    input.destroy()
  }
}

async function parquetFacts(path: string): Promise<ColumnarFacts> {
  const file = await ParquetFile.fromFile(await openAsBlob(path))
  try {
    const { schema } = tableFromIPC(file.schema().intoIPCStream())
    const stored = file.metadata().fileMetadata().keyValueMetadata() as Map<string, string>
    for (const [key, value] of stored) if (key !== 'ARROW:schema') schema.metadata.set(key, value)
    return factsOf(schema, codecOf(file))
  } finally {
    file.free()
  }
}

function factsOf(schema: Schema, codec: Compression): ColumnarFacts {
  try {
    return { columns: columnsOfSchema(schema), metadata: schema.metadata, codec }
  } catch (error) {
    // Said of the column, not of the file: it is whole.
    if (error instanceof UnsupportedColumn) throw new BadFile('unsupported', error.message)
    throw error
  }
}

/** As most of what is written is; codecs that we do not write become the usual one. */
function codecOf(file: ParquetFile): Compression {
  const codec = file.metadata().rowGroups()[0]?.columns()[0]?.compression()
  if (codec === Codec.UNCOMPRESSED) return 'none'
  if (codec === Codec.GZIP) return 'gzip'
  return codec === Codec.ZSTD ? 'zstd' : 'snappy'
}

async function* arrowBatches({ path }: ArrowPiece): AsyncGenerator<ColumnBatch> {
  const input = createReadStream(path, { highWaterMark: 1024 * 1024 })
  try {
    const reader = await blamingFile(async () => await RecordBatchReader.from(input))
    let firstRow = 1
    for (;;) {
      const next = await blamingFile(async () => await reader.next())
      if (next.done) return
      const batch = next.value as RecordBatch
      yield { batch, firstRow }
      firstRow += batch.numRows
    }
  } finally {
    input.destroy()
  }
}

/** Rows that are decoded at a time. */
const batchRows = 1024

async function* parquetBatches({ path, rowStart, rowEnd }: ParquetPiece): AsyncGenerator<ColumnBatch> {
  const file = await blamingFile(async () => await ParquetFile.fromFile(await openAsBlob(path)))
  try {
    const rowGroups = rowGroupsBetween(file, rowStart, rowEnd)
    const stream = await blamingFile(() => file.stream({ rowGroups, batchSize: batchRows }))
    const reader = stream.getReader() as ReadableStreamDefaultReader<WasmBatch>
    let row = rowStart
    for (;;) {
      const next = await blamingFile(() => reader.read())
      if (next.done) break
      const [batch] = tableFromIPC(next.value.intoIPCStream()).batches
      if (!batch) continue
      yield { batch, firstRow: row + 1 }
      row += batch.numRows
    }
    if (row !== rowEnd) throw new BadFile('corrupt', `rows ${rowStart + 1} to ${rowEnd} gave ${row - rowStart} rows`)
  } finally {
    file.free()
  }
}

function rowGroupsBetween(file: ParquetFile, rowStart: number, rowEnd: number): number[] {
  const groups: number[] = []
  let start = 0
  file
    .metadata()
    .rowGroups()
    .forEach((group, n) => {
      if (start >= rowStart && start < rowEnd) groups.push(n)
      start += group.numRows()
    })
  return groups
}
