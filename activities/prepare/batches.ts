import { cutLines } from '../../formats/cut-lines.ts'
import type { Piece } from './scan-batch.ts'
import type { PrepareSizes } from './sizes.ts'
import type { NumberedFile } from './source-list.ts'

export interface Batch {
  readonly batch: number
  readonly pieces: Piece[]
}

/** Cuts the files into batches of about a block each: small files share one. */
export async function* batches(files: readonly NumberedFile[], sizes: PrepareSizes): AsyncGenerator<Batch> {
  let batch = 0
  let pieces: Piece[] = []
  let bytes = 0
  for (const file of files) {
    const reader = await file.open()
    try {
      for await (const block of cutLines(reader, sizes)) {
        pieces.push({ ...block, file: file.number, fileName: file.name, source: file.source })
        bytes += block.bytes.length
        if (bytes < sizes.blockBytes / 2) continue
        yield { batch: batch++, pieces }
        pieces = []
        bytes = 0
      }
    } finally {
      await reader.close()
    }
  }
  if (pieces.length > 0) yield { batch, pieces }
}
