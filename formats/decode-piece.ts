import type { DecodeOptions, Piece, RowCursor } from './pieces.ts'
import { decodeJson } from './text/decode-json.ts'

/** Calls `visit` for every row of a piece of any format. Throws `BadFile`. */
export async function decodePiece(
  piece: Piece,
  options: DecodeOptions,
  visit: (cursor: RowCursor) => void,
): Promise<void> {
  // The libraries of other formats are large: threads that never meet one do without them.
  switch (piece.kind) {
    case 'json':
      return decodeJson(piece, options, visit)
    case 'csv':
      return (await import('./text/decode-csv.ts')).decodeCsv(piece, options, visit)
    case 'parquet':
      return (await import('./columns/decode-parquet.ts')).decodeParquet(piece, options, visit)
    case 'arrow':
      return (await import('./columns/decode-arrow.ts')).decodeArrow(piece, options, visit)
  }
}
