import { decodeArrow } from './columns/decode-arrow.ts'
import { decodeParquet } from './columns/decode-parquet.ts'
import type { DecodeOptions, Piece, RowCursor } from './pieces.ts'
import { decodeCsv } from './text/decode-csv.ts'
import { decodeJson } from './text/decode-json.ts'

/** Calls `visit` for every row of a piece of any format. Throws `BadFile`. */
export async function decodePiece(
  piece: Piece,
  options: DecodeOptions,
  visit: (cursor: RowCursor) => void,
): Promise<void> {
  switch (piece.kind) {
    case 'json':
      return decodeJson(piece, options, visit)
    case 'csv':
      return decodeCsv(piece, options, visit)
    case 'parquet':
      return decodeParquet(piece, options, visit)
    case 'arrow':
      return decodeArrow(piece, options, visit)
  }
}
