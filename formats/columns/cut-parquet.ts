import { BadFile } from '../bad-file.ts'
import type { ParquetPiece } from '../pieces.ts'
import type { SourceFile } from '../places/source-file.ts'
import { openParquet } from './parquet-file.ts'

/** A row group has to fit into memory, several times over. */
const maxRowGroupBytes = 1024 ** 3

/** A piece per row group: what Parquet files are made to be read by. */
export async function* cutParquet(file: SourceFile): AsyncGenerator<ParquetPiece> {
  const path = await file.localPath()
  const { metadata, close } = await openParquet(path)
  await close()
  let rowStart = 0
  for (const [n, { num_rows, total_byte_size }] of metadata.row_groups.entries()) {
    const rows = Number(num_rows)
    const sizeBytes = Number(total_byte_size)
    if (!(rows >= 0)) throw new BadFile('corrupt', `its row group ${n} has ${rows} rows`)
    if (sizeBytes > maxRowGroupBytes) {
      throw new BadFile(
        'unsupported',
        `its row group ${n} holds ${sizeBytes} bytes; write it with row groups up to 1 GiB`,
      )
    }
    if (rows > 0) yield { kind: 'parquet', path, rowStart, rowEnd: rowStart + rows, sizeBytes }
    rowStart += rows
  }
  if (rowStart !== Number(metadata.num_rows)) {
    throw new BadFile('corrupt', `its row groups hold ${rowStart} rows, its footer says ${metadata.num_rows}`)
  }
}
