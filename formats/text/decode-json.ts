import { isUtf8 } from 'node:buffer'
import { parseJsonRow } from '../json-row.ts'
import type { Decode, JsonPiece, RowCursor } from '../pieces.ts'
import { ByteStops } from '../raw/byte-stops.ts'
import { RowRejected } from '../row-rejected.ts'
import { forEachSpan, isBlankSpan, spanText } from './spans.ts'

/** Rows of JSON: lines of JSONL, elements of an array. */
export const decodeJson: Decode<JsonPiece> = (piece, { maxRowBytes, isRawWanted }, visit) => {
  const bytes = Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.length)
  // One look at the whole block spares one at each row.
  const isAllUtf8 = isUtf8(bytes)
  const raw = isRawWanted && isAllUtf8 && !piece.isCut ? rawRows(bytes) : undefined
  let start = 0
  let end = 0
  const cursor: RowCursor = {
    row: 0,
    ...(raw && { raw }),
    read() {
      if (piece.isCut || end - start > maxRowBytes) {
        throw new RowRejected('row_too_long', `more than ${maxRowBytes} bytes`)
      }
      if (!isAllUtf8 && !isUtf8(bytes.subarray(start, end))) throw new RowRejected('invalid_utf8')
      const text = bytes.toString('utf8', start, end)
      return parseJsonRow(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text)
    },
    excerpt: () => spanText(bytes, start, end),
  }
  forEachSpan(piece.spans, (spanStart, spanEnd, n) => {
    if (isBlankSpan(bytes, spanStart, spanEnd)) return
    start = spanStart
    end = spanEnd
    if (raw) {
      raw.start = spanStart
      // Rows that are too long are for `read` to refuse.
      raw.end = spanEnd - spanStart > maxRowBytes ? spanStart : spanEnd
    }
    cursor.row = piece.firstRow + n
    cursor.byte = piece.firstByte + start
    visit(cursor)
  })
}

const byteOrderMark = 0xfeff

/** One for all blocks of a thread: its memory is as large as the largest of them. */
let stops: ByteStops | undefined

function rawRows(bytes: Buffer): NonNullable<RowCursor['raw']> {
  stops ??= new ByteStops()
  stops.load(bytes)
  return { block: stops, start: 0, end: 0 }
}
