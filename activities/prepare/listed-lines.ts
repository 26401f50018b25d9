import { type ListKind, lineChunks, listPath } from './batch-lines.ts'
import { batchName, type ScannedBatch } from './scan-batch.ts'

/** The lines of one kind about the wanted files in reading order, from the batches' scratch files. */
export async function* listedLines(
  folder: string,
  kind: ListKind,
  scanned: readonly ScannedBatch[],
  isWanted: (file: number) => boolean,
): AsyncGenerator<Uint8Array> {
  for (const { batch, pieces } of scanned) {
    let start = 0
    for (const { file, listedBytes } of pieces) {
      const end = start + listedBytes[kind]
      if (isWanted(file)) yield* lineChunks(listPath(folder, batchName(batch), kind), start, end)
      start = end
    }
  }
}
