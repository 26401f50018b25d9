import { BadFile } from '../../../formats/bad-file.ts'
import { cutFile } from '../../../formats/cut-file.ts'
import { pieceBytes } from '../../../formats/pieces.ts'
import type { SourceFile } from '../../../formats/places/source-file.ts'
import { DatasetDamaged } from '../errors.ts'
import type { MergeSizes } from '../sizes.ts'
import type { MergeBatch, NumberedPiece } from './merge-task-types.ts'

export interface BatchOptions {
  readonly sizes: MergeSizes
  /** Gives memory for blocks. */
  allocate(bytes: number): Buffer
  /** How far reading has got, from 0 to 1. */
  progress(): number
}

/** Cuts files into batches of about a block each; small files share one. Throws `DatasetDamaged`. */
export async function* mergeBatches(
  files: readonly SourceFile[],
  { sizes, allocate, progress }: BatchOptions,
): AsyncGenerator<MergeBatch> {
  let batch = 0
  let pieces: NumberedPiece[] = []
  let bytes = 0
  for (const [number, file] of files.entries()) {
    // A file without a byte is one without a row; the readers would call it bad.
    if (file.bytes === 0) continue
    try {
      for await (const piece of cutFile(file, { ...sizes, format: 'auto', allocate })) {
        pieces.push({ file: number, piece })
        bytes += pieceBytes(piece)
        if (bytes < sizes.blockBytes / 2) continue
        yield { batch: batch++, progress: progress(), pieces }
        pieces = []
        bytes = 0
      }
    } catch (error) {
      throw error instanceof BadFile ? new DatasetDamaged(file.uri, `can not be read: ${error.found}`) : error
    }
  }
  if (pieces.length > 0) yield { batch, progress: progress(), pieces }
}
