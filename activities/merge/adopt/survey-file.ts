import type { Column } from '../../../domain/columns.ts'
import type { Compression, DatasetFile, DatasetFormat } from '../../../domain/dataset.ts'
import { splitOfFile } from '../../../domain/splits.ts'
import { BadFile } from '../../../formats/bad-file.ts'
import { isObject, type Row } from '../../../formats/conversation/row.ts'
import { cutFile } from '../../../formats/cut-file.ts'
import type { ArrowPiece, JsonPiece, ParquetPiece, Piece } from '../../../formats/pieces.ts'
import { forEachSpan, isBlankSpan } from '../../../formats/text/spans.ts'
import { columnarFacts, readBatches } from '../columnar/read-batches.ts'
import { rowText } from '../columnar/row-text.ts'
import { withFeatures } from '../columnar/stored-features.ts'
import { type DataFile, uriOf, verifiedFile } from '../data-file.ts'
import { DatasetDamaged, NotADataset } from '../errors.ts'

/** What is known of a file after one look at all of it. */
export interface SurveyedFile {
  readonly file: DatasetFile
  readonly format: DatasetFormat
  readonly compression: Compression
  /** What a columnar file says of its columns. */
  readonly columns?: readonly Column[]
  /** Some of its first rows. */
  readonly sample: readonly Row[]
}

export interface SurveyOptions {
  readonly spool: string
  readonly signal?: AbortSignal
  onBytes?(bytes: number): void
}

const sizes = { blockBytes: 4 * 1024 * 1024, maxRowBytes: 256 * 1024 * 1024 }
const sampleRows = 200

/** Reads a file to its end: counts its rows, hashes its bytes, and looks at some of the rows. */
export async function surveyFile(file: DataFile, options: SurveyOptions): Promise<SurveyedFile> {
  let facts = { bytes: file.bytes, sha256: '' }
  const source = verifiedFile(file, {
    ...options,
    onEnd: (read) => {
      facts = read
    },
  })
  const tally: Tally = { rows: 0, sample: [], format: formatOf(file.key), compression: compressionOf(file.key) }
  try {
    // A file without a byte is one without a row; the readers would call it bad.
    if (file.bytes === 0) await source.open().then((reader) => reader.close())
    else for await (const piece of cutFile(source, { ...sizes, format: 'auto' })) await tallyPiece(piece, tally)
  } catch (error) {
    if (!(error instanceof BadFile)) throw error
    if (error.reason === 'unsupported') throw new NotADataset(uriOf(file), `can not be adopted: ${error.found}`)
    throw new DatasetDamaged(uriOf(file), `can not be read: ${error.found}`)
  }
  const { rows, ...found } = tally
  return { file: { key: file.key, split: splitOfFile(file.key), rows, ...facts }, ...found }
}

interface Tally {
  rows: number
  sample: Row[]
  format: DatasetFormat
  compression: Compression
  columns?: readonly Column[]
}

async function tallyPiece(piece: Piece, tally: Tally): Promise<void> {
  const missing = sampleRows - tally.sample.length
  switch (piece.kind) {
    case 'json':
      tally.rows += countRows(piece)
      if (missing > 0) tally.sample.push(...firstRows(piece, missing))
      return
    case 'parquet':
      tally.rows += piece.rowEnd - piece.rowStart
      if (!tally.columns) await tallyColumns(piece, tally, { isCounted: true })
      return
    case 'arrow':
      await tallyColumns(piece, tally, { isCounted: false })
      return
    case 'csv':
      throw new BadFile('unsupported', 'CSV holds no datasets; convert it to JSON lines, Parquet or Arrow')
  }
}

/** Columns and some rows of a columnar file; where its rows are not counted yet, those as well. */
async function tallyColumns(piece: ArrowPiece | ParquetPiece, tally: Tally, { isCounted }: { isCounted: boolean }) {
  const { columns, metadata, codec } = await columnarFacts(piece.kind, piece.path)
  tally.format = piece.kind
  tally.compression = codec
  tally.columns = withFeatures(columns, metadata)
  for await (const { batch } of readBatches(piece)) {
    if (!isCounted) tally.rows += batch.numRows
    const text = rowText(batch, { values: 'plain' })
    for (let n = 0; n < batch.numRows && tally.sample.length < sampleRows; n++) tally.sample.push(JSON.parse(text(n)))
    if (isCounted) return
  }
}

/** By the name, for files without a row; all others say what they are. */
function formatOf(key: string): DatasetFormat {
  if (/\.parquet$/i.test(key)) return 'parquet'
  return /\.arrow$/i.test(key) ? 'arrow' : 'jsonl'
}

function compressionOf(key: string): Compression {
  if (/\.zst$/i.test(key)) return 'zstd'
  return /\.(gz|bz2|xz)$/i.test(key) ? 'gzip' : 'none'
}

function countRows({ bytes, spans }: JsonPiece): number {
  let rows = 0
  forEachSpan(spans, (start, end) => {
    if (!isBlankSpan(bytes, start, end)) rows++
  })
  return rows
}

/** What can't be parsed here is found, with its place, when the rows are merged. */
function firstRows({ bytes, spans }: JsonPiece, most: number): Row[] {
  const rows: Row[] = []
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  forEachSpan(spans.subarray(0, most * 2), (start, end) => {
    try {
      const row: unknown = JSON.parse(text.toString('utf8', start, end))
      if (isObject(row)) rows.push(row)
    } catch {
      // Found again with its place.
    }
  })
  return rows
}
