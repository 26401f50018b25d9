import type { Spec } from '../../domain/spec.ts'
import { BadFile } from '../../formats/bad-file.ts'
import { cutFile } from '../../formats/cut-file.ts'
import { isReadByLibrary, pieceBytes } from '../../formats/pieces.ts'
import type { FilePiece } from './scan-batch.ts'
import type { PrepareSizes } from './sizes.ts'
import type { NumberedFile } from './source-list.ts'

export interface Batch {
  readonly batch: number
  readonly pieces: readonly FilePiece[]
}

/** Where cutting goes on after the batches that an earlier attempt scanned. */
export interface BatchStart {
  readonly batch: number
  readonly file: number
  /** Pieces of that file that are in earlier batches. */
  readonly pieces: number
}

export interface BatchOptions {
  readonly spec: Spec
  readonly sizes: PrepareSizes
  readonly start: BatchStart
  /** Told of a file that can't be read on; throws when that ends it all. */
  onBadFile(file: NumberedFile, error: BadFile): Promise<void>
}

/**
 * Cuts the files into batches of about a block each. Small files share one, except where a damaged file can take the whole
 * batch down. Same files and sizes, same batches.
 */
export async function* batches(
  files: readonly NumberedFile[],
  { spec, sizes, start, onBadFile }: BatchOptions,
): AsyncGenerator<Batch> {
  let { batch } = start
  let pieces: FilePiece[] = []
  let bytes = 0
  for (const file of files.slice(start.file)) {
    let toSkip = file.number === start.file ? start.pieces : 0
    const format = spec.sources[file.source]?.format ?? 'auto'
    try {
      for await (const piece of cutFile(file, { ...sizes, format })) {
        if (toSkip-- > 0) continue
        const filePiece = { file: file.number, fileName: file.name, source: file.source, piece }
        if (isReadByLibrary(piece) && pieces.length > 0) {
          yield { batch: batch++, pieces }
          pieces = []
          bytes = 0
        }
        pieces.push(filePiece)
        bytes += pieceBytes(piece)
        if (bytes < sizes.blockBytes / 2 && !isReadByLibrary(piece)) continue
        yield { batch: batch++, pieces }
        pieces = []
        bytes = 0
      }
    } catch (error) {
      if (!(error instanceof BadFile)) throw error
      await onBadFile(file, error)
    }
  }
  if (pieces.length > 0) yield { batch, pieces }
}
