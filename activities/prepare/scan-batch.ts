import { isUtf8 } from 'node:buffer'
import type { RejectReason } from '../../domain/reject.ts'
import type { Block } from '../../formats/cut-lines.ts'
import { parseJsonRow } from '../../formats/json-row.ts'
import { RowRejected } from '../../formats/row-rejected.ts'
import { type Spill, SpillWriter } from '../../shuffle/spill-writer.ts'
import type { PromptMaker } from './make-prompt.ts'
import type { ReductionNote } from './reduce-conversation.ts'
import { RejectWriter } from './reject-writer.ts'

/** A block of one file, with what its rows need to be known by. */
export interface Piece extends Block {
  /** Number of the file among all files of all sources: groups rows, and breaks ties between duplicates. */
  readonly file: number
  readonly fileName: string
  readonly source: number
}

/** What became of the rows of a piece. */
export interface PieceCounts {
  readonly file: number
  read: number
  rejected: Partial<Record<RejectReason, number>>
  filtered: Record<string, number>
  notes: Partial<Record<ReductionNote, number>>
  schemas: Record<string, number>
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
  readonly seed: string
  readonly maxRowBytes: number
  readonly spillBytes: number
  /** By source. */
  readonly makers: readonly PromptMaker[]
}

/** Turns the rows of a batch into prompts, spilled to disk by their fate, and rejects, listed in reading order. */
export function scanBatch(batch: number, pieces: readonly Piece[], options: ScanOptions): ScannedBatch {
  const name = batchName(batch)
  const spills = new SpillWriter(options.folder, name, options.seed, options.spillBytes)
  const rejects = new RejectWriter(options.folder, name)
  try {
    const counts = pieces.map((piece) => scanPiece(piece, options, spills, rejects))
    return { batch, spills: spills.finish(), pieces: counts }
  } finally {
    rejects.close()
  }
}

function scanPiece(piece: Piece, options: ScanOptions, spills: SpillWriter, rejects: RejectWriter): PieceCounts {
  const { file, fileName } = piece
  const counts: PieceCounts = {
    file,
    read: 0,
    rejected: {},
    filtered: {},
    notes: {},
    schemas: {},
    rejectBytes: 0,
  }
  const makePrompt = options.makers[piece.source]
  if (!makePrompt) throw new Error(`No source ${piece.source}`)
  const place = { file, fileName, row: 0 }
  forEachLine(piece, (start, end, row) => {
    counts.read++
    place.row = row
    try {
      const text = lineText(piece, start, end, options.maxRowBytes)
      makePrompt(parseJsonRow(text), place, counts, spills)
    } catch (error) {
      if (!(error instanceof RowRejected)) throw error
      counts.rejected[error.reason] = (counts.rejected[error.reason] ?? 0) + 1
      counts.rejectBytes += rejects.add({
        file: fileName,
        row,
        byte: piece.firstByte + start,
        reason: error.reason,
        message: error.message,
        excerpt: excerptOf(piece.bytes, start, end),
      })
    }
  })
  return counts
}

/** Calls with the bounds of every line that is not blank. */
function forEachLine({ bytes, firstRow }: Block, visit: (start: number, end: number, row: number) => void): void {
  let row = firstRow
  for (let start = 0; start < bytes.length; row++) {
    const newline = bytes.indexOf(10, start)
    const end = newline < 0 ? bytes.length : newline
    if (!isBlankLine(bytes, start, end)) visit(start, end, row)
    start = end + 1
  }
}

function isBlankLine(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte !== 32 && byte !== 13 && byte !== 9) return false
  }
  return true
}

function lineText(piece: Piece, start: number, end: number, maxRowBytes: number): string {
  if (piece.isCut || end - start > maxRowBytes) throw new RowRejected('row_too_long', `more than ${maxRowBytes} bytes`)
  const bytes = piece.bytes.subarray(start, end)
  if (!isUtf8(bytes)) throw new RowRejected('invalid_utf8')
  const text = asBuffer(bytes).toString('utf8')
  return start === 0 && piece.firstByte === 0 && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

const excerptBytes = 240

function excerptOf(bytes: Uint8Array, start: number, end: number): string {
  return asBuffer(bytes.subarray(start, Math.min(end, start + excerptBytes))).toString('utf8')
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** What the scratch files of a batch are called. */
export function batchName(batch: number): string {
  return `batch-${String(batch).padStart(6, '0')}`
}
