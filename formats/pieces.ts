import type { ByteStops } from './raw/byte-stops.ts'
import type { TextBlock } from './text/cut-text.ts'

/** A part of a file that can be handed to a thread: rows as text, or rows of a local file to be read there. */
export type Piece = JsonPiece | CsvPiece | ParquetPiece | ArrowPiece

export interface JsonPiece extends TextBlock {
  readonly kind: 'json'
}

export interface CsvPiece extends TextBlock {
  readonly kind: 'csv'
  readonly header: readonly string[]
  readonly delimiter: string
}

export interface ParquetPiece {
  readonly kind: 'parquet'
  readonly path: string
  /** From 0, the end exclusive: a row group, or part of one. */
  readonly rowStart: number
  readonly rowEnd: number
  /** Size in the file, to weigh the piece by. */
  readonly sizeBytes: number
}

export interface ArrowPiece {
  readonly kind: 'arrow'
  readonly path: string
  readonly sizeBytes: number
}

/** Whether a library reads it in the thread: a damaged file can then make it loop, or end the thread. */
export function isReadByLibrary(piece: Piece): piece is ParquetPiece | ArrowPiece {
  return piece.kind === 'parquet' || piece.kind === 'arrow'
}

/** How much work a piece is, about. */
export function pieceBytes(piece: Piece): number {
  return isReadByLibrary(piece) ? piece.sizeBytes : piece.bytes.length
}

/** Memory that a piece can be moved to another thread with, instead of being copied. */
export function transferableOf(piece: Piece): ArrayBuffer[] {
  if (isReadByLibrary(piece)) return []
  return [piece.bytes.buffer, piece.spans.buffer] as ArrayBuffer[]
}

/** A row under a reader's eyes; the same object for all rows of a piece. */
export interface RowCursor {
  /** Row in the file, from 1; the line number in JSONL. */
  row: number
  /** Where the row begins in the file, after decompression. Text formats only. */
  byte?: number
  /** The row as it is written, where it is valid UTF-8 and somebody asked for it. */
  raw?: { readonly block: ByteStops; start: number; end: number }
  /** Parses the row. Throws `RowRejected`. */
  read(): Record<string, unknown>
  /** The beginning of the row, as far as it can be shown. */
  excerpt(): string
}

export interface DecodeOptions {
  readonly maxRowBytes: number
  /** Columns that anything is wanted of; others may be left out where that saves work. */
  readonly columns: ReadonlySet<string>
  /** Whether rows are wanted as they are written, where they are text. */
  readonly isRawWanted?: boolean
  /** Awaited now and then within a long piece, for what the visitor has put off. */
  settle?(): Promise<void>
}

/** Calls `visit` for every row of a piece, in order. Throws `BadFile` when the file turns out to be damaged. */
export type Decode<P extends Piece> = (
  piece: P,
  options: DecodeOptions,
  visit: (cursor: RowCursor) => void,
) => void | Promise<void>
