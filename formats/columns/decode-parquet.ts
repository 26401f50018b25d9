import { type AsyncBuffer, parquetReadObjects, parquetSchema } from 'hyparquet'
import { BadFile, blamingFile } from '../bad-file.ts'
import { InvalidText } from '../conversation/content.ts'
import type { Decode, ParquetPiece, RowCursor } from '../pieces.ts'
import { pageCodecs } from './parquet-codecs.ts'
import { openParquet } from './parquet-file.ts'
import { plainValue, rowExcerpt } from './plain-value.ts'

// A byte order mark inside of a text belongs to the text.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Rows of a Parquet row group. */
export const decodeParquet: Decode<ParquetPiece> = async ({ path, rowStart, rowEnd }, { columns }, visit) => {
  const rows = await readRows(path, rowStart, rowEnd, columns)
  if (rows.length !== rowEnd - rowStart) {
    throw new BadFile('corrupt', `rows ${rowStart + 1} to ${rowEnd} gave ${rows.length} rows`)
  }
  let row: Record<string, unknown> = {}
  const cursor: RowCursor = {
    row: 0,
    read: () => plainValue(row) as Record<string, unknown>,
    excerpt: () => rowExcerpt(row),
  }
  rows.forEach((read, n) => {
    row = read
    cursor.row = rowStart + n + 1
    visit(cursor)
  })
}

async function readRows(
  path: string,
  rowStart: number,
  rowEnd: number,
  wanted: ReadonlySet<string>,
): Promise<Record<string, unknown>[]> {
  const { buffer, metadata, close } = await openParquet(path)
  try {
    const there = parquetSchema(metadata).children.map(({ element }) => element.name)
    const some = there.filter((name) => wanted.has(name))
    const gate = new Gate(buffer)
    const reading = gate.watch(
      parquetReadObjects({
        file: gate.buffer,
        metadata,
        rowStart,
        rowEnd,
        // Where none is known, all are read, so that the rejects can say what there was.
        columns: some.length > 0 ? some : there,
        compressors: pageCodecs,
        parsers: { stringFromBytes },
      }),
    )
    return await blamingFile(() => reading)
  } finally {
    await close()
  }
}

function stringFromBytes(bytes: Uint8Array | undefined): unknown {
  if (!bytes) return bytes
  try {
    return utf8.decode(bytes)
  } catch {
    return new InvalidText()
  }
}

/**
 * The library starts to read columns before it has looked at all of the schema. When it gives up over the schema, nobody
 * waits for those columns any more, and one that is damaged as well would end the process as an unhandled rejection. So no
 * bytes are given out before that moment is past, and none at all when it has given up.
 */
class Gate {
  readonly buffer: AsyncBuffer
  #hasFailed = false

  constructor(inner: AsyncBuffer) {
    this.buffer = {
      byteLength: inner.byteLength,
      slice: async (start, end) => {
        await new Promise(setImmediate)
        return this.#hasFailed ? new Promise<never>(() => {}) : inner.slice(start, end)
      },
    }
  }

  watch<T>(reading: Promise<T>): Promise<T> {
    reading.catch(() => {
      this.#hasFailed = true
    })
    return reading
  }
}
