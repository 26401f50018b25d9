import { createReadStream } from 'node:fs'
import { MapRow, type RecordBatch, RecordBatchReader, StructRow, Vector } from 'apache-arrow'
import { blamingFile } from '../bad-file.ts'
import type { ArrowPiece, Decode, RowCursor } from '../pieces.ts'
import { plainValue, rowExcerpt } from './plain-value.ts'

type Row = Record<string, unknown>

/** Rows of an Arrow file, stream or file format, batch by batch. */
export const decodeArrow: Decode<ArrowPiece> = async ({ path }, { columns, settle }, visit) => {
  let row: Row = {}
  const cursor: RowCursor = { row: 0, read: () => row, excerpt: () => rowExcerpt(row) }
  const input = createReadStream(path, { highWaterMark: 1024 * 1024 })
  try {
    const reader = await blamingFile(() => RecordBatchReader.from(input))
    for (;;) {
      const rows = await blamingFile(async () => {
        const next = await reader.next()
        return next.done ? undefined : rowsOf(next.value, columns)
      })
      if (!rows) return
      for (const read of rows) {
        row = read
        cursor.row++
        visit(cursor)
      }
      await settle?.()
    }
  } finally {
    input.destroy()
  }
}

function rowsOf(batch: RecordBatch, columns: ReadonlySet<string>): Row[] {
  const names = batch.schema.fields.map(({ name }) => name)
  const some = names.filter((name) => columns.has(name))
  // Where none is known, all are read, so that the rejects can say what there was.
  const wanted = (some.length > 0 ? some : names).map((name) => ({ name, values: batch.getChild(name) }))
  return Array.from({ length: batch.numRows }, (_, n) =>
    Object.fromEntries(wanted.map(({ name, values }) => [name, plainValue(fromArrow(values?.get(n)))])),
  )
}

/** Arrow's own lists and structs as plain ones. */
function fromArrow(value: unknown): unknown {
  if (value instanceof Vector) return Array.from(value as Iterable<unknown>, fromArrow)
  if (value instanceof StructRow || value instanceof MapRow) {
    const entries = Array.from(value as Iterable<[string, unknown]>)
    return Object.fromEntries(entries.map(([key, inner]) => [key, fromArrow(inner)]))
  }
  return value
}
