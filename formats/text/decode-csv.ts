import { isUtf8 } from 'node:buffer'
import { CsvError, parse } from 'csv-parse/sync'
import { messageOf } from '../bad-file.ts'
import type { CsvPiece, Decode, RowCursor } from '../pieces.ts'
import { RowRejected } from '../row-rejected.ts'
import { forEachSpan, isBlankSpan, spanText } from './spans.ts'

/** Rows of CSV or TSV; every column holds a text. */
export const decodeCsv: Decode<CsvPiece> = (piece, { maxRowBytes }, visit) => {
  const bytes = Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.length)
  let start = 0
  let end = 0
  const cursor: RowCursor = {
    row: 0,
    read() {
      if (piece.isCut || end - start > maxRowBytes) {
        throw new RowRejected('row_too_long', `more than ${maxRowBytes} bytes`)
      }
      const record = bytes.subarray(start, end)
      if (!isUtf8(record)) throw new RowRejected('invalid_utf8')
      const fields = parseRecord(record, piece.delimiter)
      if (fields.length !== piece.header.length) {
        throw new RowRejected('wrong_column_count', `${fields.length} instead of ${piece.header.length}`)
      }
      return Object.fromEntries(piece.header.map((name, n) => [name, fields[n]]))
    },
    excerpt: () => spanText(bytes, start, end),
  }
  forEachSpan(piece.spans, (spanStart, spanEnd, n) => {
    if (isBlankSpan(bytes, spanStart, spanEnd)) return
    start = spanStart
    end = spanEnd
    cursor.row = piece.firstRow + n
    cursor.byte = piece.firstByte + start
    visit(cursor)
  })
}

/** The fields of one record. Throws `RowRejected`. */
export function parseRecord(record: Buffer, delimiter: string): string[] {
  try {
    return parse(record, { delimiter, bom: true, relax_column_count: true })[0] ?? []
  } catch (error) {
    if (error instanceof CsvError) throw new RowRejected('invalid_csv', messageOf(error))
    throw error
  }
}
