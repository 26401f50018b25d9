import type { Compression, DatasetFile, DatasetFormat } from '../../../domain/dataset.ts'
import { splitOfFile } from '../../../domain/splits.ts'
import { BadFile } from '../../../formats/bad-file.ts'
import { isObject, type Row } from '../../../formats/conversation/row.ts'
import { cutFile } from '../../../formats/cut-file.ts'
import type { JsonPiece, Piece } from '../../../formats/pieces.ts'
import { forEachSpan, isBlankSpan } from '../../../formats/text/spans.ts'
import { type DataFile, uriOf, verifiedFile } from '../data-file.ts'
import { DatasetDamaged, NotADataset } from '../errors.ts'

/** What is known of a file after one look at all of it. */
export interface SurveyedFile {
  readonly file: DatasetFile
  readonly format: DatasetFormat
  readonly compression: Compression
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
  const sample: Row[] = []
  let rows = 0
  try {
    for await (const piece of cutFile(source, { ...sizes, format: 'auto' })) {
      if (piece.kind !== 'json') throw unsupported(file, piece)
      rows += countRows(piece)
      if (sample.length < sampleRows) sample.push(...firstRows(piece, sampleRows - sample.length))
    }
  } catch (error) {
    throw error instanceof BadFile ? new DatasetDamaged(uriOf(file), `can not be read: ${error.found}`) : error
  }
  const { key } = file
  return {
    file: { key, split: splitOfFile(key), rows, ...facts },
    format: 'jsonl',
    compression: compressionOf(key),
    sample,
  }
}

function unsupported(file: DataFile, { kind }: Piece): NotADataset {
  return new NotADataset(uriOf(file), `is ${kind}: datasets are JSON lines, Parquet or Arrow; convert it`)
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
