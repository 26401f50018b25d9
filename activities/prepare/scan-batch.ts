import type { RejectReason } from '../../domain/reject.ts'
import { BadFile, type BadFileReason } from '../../formats/bad-file.ts'
import { decodePiece } from '../../formats/decode-piece.ts'
import type { Piece, RowCursor } from '../../formats/pieces.ts'
import { RowRejected } from '../../formats/row-rejected.ts'
import type { Spill, SpillWriter } from '../../shuffle/spill-writer.ts'
import type { PromptMaker } from './make-prompt.ts'
import type { ReductionNote } from './reduce-conversation.ts'
import { RejectWriter } from './reject-writer.ts'

/** A piece of a file, with what its rows need to be known by. */
export interface FilePiece {
  /** Number of the file among all files of all sources: groups rows, and breaks ties between duplicates. */
  readonly file: number
  readonly fileName: string
  readonly source: number
  readonly piece: Piece
}

/** What became of the rows of a piece. */
export interface PieceCounts {
  readonly file: number
  read: number
  rejected: Partial<Record<RejectReason, number>>
  filtered: Record<string, number>
  notes: Partial<Record<ReductionNote, number>>
  schemas: Record<string, number>
  /** The file turned out to be damaged; nothing of it counts. */
  bad?: { reason: BadFileReason; found: string }
  /** Length of the piece's lines in the batch's file of rejects. */
  rejectBytes: number
}

export interface ScannedBatch {
  readonly batch: number
  readonly spills: readonly Spill[]
  readonly pieces: readonly PieceCounts[]
}

export interface ScanOptions {
  readonly folder: string
  readonly maxRowBytes: number
  readonly spills: SpillWriter
  /** By source. */
  readonly makers: readonly PromptMaker[]
}

/** Turns the rows of a batch into prompts, spilled to disk by their fate, and rejects, listed in reading order. */
export async function scanBatch(
  batch: number,
  pieces: readonly FilePiece[],
  options: ScanOptions,
): Promise<ScannedBatch> {
  const name = batchName(batch)
  const { spills } = options
  spills.begin(name)
  const rejects = new RejectWriter(options.folder, name)
  const counts: PieceCounts[] = []
  try {
    for (const piece of pieces) counts.push(await scanPiece(piece, options, rejects))
    return { batch, spills: spills.finish(), pieces: counts }
  } finally {
    rejects.close()
  }
}

async function scanPiece(
  { file, fileName, source, piece }: FilePiece,
  { maxRowBytes, makers, spills }: ScanOptions,
  rejects: RejectWriter,
): Promise<PieceCounts> {
  const maker = makers[source]
  if (!maker) throw new Error(`The spec has no source ${source}`)
  const counts: PieceCounts = { file, read: 0, rejected: {}, filtered: {}, notes: {}, schemas: {}, rejectBytes: 0 }
  const place = { file, fileName, row: 0 }
  const reject = (cursor: RowCursor, { reason, message }: RowRejected) => {
    counts.rejected[reason] = (counts.rejected[reason] ?? 0) + 1
    const { row, byte } = cursor
    counts.rejectBytes += rejects.add({ file: fileName, row, byte, reason, message, excerpt: cursor.excerpt() })
  }
  try {
    await decodePiece(piece, { maxRowBytes, columns: maker.columns }, (cursor) => {
      counts.read++
      place.row = cursor.row
      try {
        maker.makePrompt(cursor.read(), place, counts, spills)
      } catch (error) {
        if (!(error instanceof RowRejected)) throw error
        reject(cursor, error)
      }
    })
  } catch (error) {
    if (!(error instanceof BadFile)) throw error
    counts.bad = { reason: error.reason, found: error.found }
  }
  return counts
}

/** What the scratch files of a batch are called. */
export function batchName(batch: number): string {
  return `batch-${String(batch).padStart(6, '0')}`
}
