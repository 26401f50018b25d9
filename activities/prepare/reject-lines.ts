import { readExactly, withScratchFile } from '../../shuffle/scratch-files.ts'
import { rejectsPath } from './reject-writer.ts'
import { batchName, type ScannedBatch } from './scan-batch.ts'

const chunkBytes = 1024 * 1024

/** The reject lines of the wanted files in reading order, from the batches' scratch files. */
export async function* rejectLines(
  folder: string,
  scanned: readonly ScannedBatch[],
  isWanted: (file: number) => boolean,
): AsyncGenerator<Uint8Array> {
  for (const { batch, pieces } of scanned) {
    let start = 0
    for (const { file, rejectBytes } of pieces) {
      const end = start + rejectBytes
      if (isWanted(file)) yield* chunks(rejectsPath(folder, batchName(batch)), start, end)
      start = end
    }
  }
}

function* chunks(path: string, start: number, end: number): Generator<Uint8Array> {
  for (let at = start; at < end; at += chunkBytes) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end - at))
    withScratchFile(path, (file) => readExactly(file, chunk, at))
    yield chunk
  }
}
