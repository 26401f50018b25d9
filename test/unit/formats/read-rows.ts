import { cutFile } from '../../../formats/cut-file.ts'
import { decodePiece } from '../../../formats/decode-piece.ts'
import type { Format } from '../../../formats/detect-format.ts'
import { localFiles } from '../../../formats/places/local-files.ts'
import { RowRejected } from '../../../formats/row-rejected.ts'

export interface ReadRow {
  row: number
  byte?: number
  value?: Record<string, unknown>
  rejected?: string
  excerpt: string
}

export interface ReadOptions {
  format?: Format
  blockBytes?: number
  maxRowBytes?: number
  columns?: string[]
}

/** Reads all rows of a file as the prepare stage does. Throws what reading throws. */
export async function readRows(path: string, options: ReadOptions = {}): Promise<ReadRow[]> {
  const { format = 'auto', blockBytes = 64 * 1024, maxRowBytes = 1024 * 1024, columns = [] } = options
  const [file] = await localFiles(path)
  const rows: ReadRow[] = []
  for await (const piece of cutFile(file!, { format, blockBytes, maxRowBytes })) {
    await decodePiece(piece, { maxRowBytes, columns: new Set(columns) }, (cursor) => {
      const { row, byte } = cursor
      try {
        rows.push({ row, byte, value: cursor.read(), excerpt: cursor.excerpt() })
      } catch (error) {
        if (!(error instanceof RowRejected)) throw error
        rows.push({ row, byte, rejected: error.reason, excerpt: cursor.excerpt() })
      }
    })
  }
  return rows
}
