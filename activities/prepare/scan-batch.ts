import type { Contaminated } from '../../domain/contaminated.ts'
import type { FilterReason } from '../../domain/filter.ts'
import type { Reject, RejectReason } from '../../domain/reject.ts'
import type { ThinkingChoice } from '../../domain/spec.ts'
import { BadFile, type BadFileReason } from '../../formats/bad-file.ts'
import { decodePiece } from '../../formats/decode-piece.ts'
import type { Piece } from '../../formats/pieces.ts'
import { RowRejected } from '../../formats/row-rejected.ts'
import type { Spill, SpillWriter } from '../../shuffle/spill-writer.ts'
import { BatchLines, type ListKind, listPath } from './batch-lines.ts'
import type { PromptMaker } from './make-prompt.ts'
import type { ReductionNote } from './reduce-conversation.ts'
import { splitOfFile } from './split-of-file.ts'

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
  filtered: Partial<Record<FilterReason, number>>
  notes: Partial<Record<ReductionNote, number>>
  schemas: Record<string, number>
  /** The file turned out to be damaged; nothing of it counts. */
  bad?: { reason: BadFileReason; found: string }
  /** Length of the piece's lines in the batch's lists. */
  listedBytes: Record<ListKind, number>
}

export function emptyCounts(file: number): PieceCounts {
  return {
    file,
    read: 0,
    rejected: {},
    filtered: {},
    notes: {},
    schemas: {},
    listedBytes: { rejects: 0, contaminated: 0 },
  }
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

/** Turns the rows of a batch into prompts, spilled to disk by their fate, and lists those that became none. */
export async function scanBatch(
  batch: number,
  pieces: readonly FilePiece[],
  options: ScanOptions,
): Promise<ScannedBatch> {
  const name = batchName(batch)
  const { folder, spills } = options
  const lists = {
    rejects: new BatchLines(listPath(folder, name, 'rejects')),
    contaminated: new BatchLines(listPath(folder, name, 'contaminated')),
  }
  spills.begin(name)
  const counts: PieceCounts[] = []
  try {
    for (const piece of pieces) counts.push(await scanPiece(piece, options, lists))
    return { batch, spills: spills.finish(), pieces: counts }
  } finally {
    for (const list of Object.values(lists)) list.close()
  }
}

/** Takes what becomes of the rows of one piece. */
export class PieceSink {
  readonly counts: PieceCounts
  /** The split that the file's name tells. */
  readonly split: string | undefined
  /** The beginning of each prompt's provenance, up to the number of its row. */
  readonly provenanceStart: string

  constructor(
    readonly file: number,
    readonly fileName: string,
    readonly thinkingChoice: ThinkingChoice,
    readonly spills: SpillWriter,
    private readonly lists: Readonly<Record<ListKind, BatchLines>>,
  ) {
    this.split = splitOfFile(fileName)
    this.provenanceStart = `{"file":${JSON.stringify(fileName)},"row":`
    this.counts = emptyCounts(file)
  }

  note(what: ReductionNote, times = 1): void {
    if (times > 0) this.counts.notes[what] = (this.counts.notes[what] ?? 0) + times
  }

  schema(name: string): void {
    addOne(this.counts.schemas, name)
  }

  filtered(reason: FilterReason): void {
    addOne(this.counts.filtered, reason)
  }

  rejected(reject: Reject): void {
    addOne(this.counts.rejected, reject.reason)
    this.counts.listedBytes.rejects += this.lists.rejects.add(reject)
  }

  contaminated(match: Contaminated): void {
    this.filtered('contaminated')
    this.counts.listedBytes.contaminated += this.lists.contaminated.add(match)
  }
}

function addOne<Key extends string>(counts: Partial<Record<Key, number>>, key: Key): void {
  counts[key] = (counts[key] ?? 0) + 1
}

async function scanPiece(
  { file, fileName, source, piece }: FilePiece,
  { maxRowBytes, makers, spills }: ScanOptions,
  lists: Readonly<Record<ListKind, BatchLines>>,
): Promise<PieceCounts> {
  const maker = makers[source]
  if (!maker) throw new Error(`The spec has no source ${source}`)
  const sink = new PieceSink(file, fileName, maker.thinking, spills, lists)
  try {
    await decodePiece(
      piece,
      { maxRowBytes, columns: maker.columns, isRawWanted: maker.raw !== undefined, settle: () => maker.settle() },
      (cursor) => {
        sink.counts.read++
        const { raw } = cursor
        if (raw && maker.raw?.take(raw.block, raw.start, raw.end, cursor.row, sink)) return
        try {
          maker.makePrompt(cursor.read(), cursor.row, sink)
        } catch (error) {
          if (!(error instanceof RowRejected)) throw error
          const { row, byte } = cursor
          const { reason, message } = error
          sink.rejected({ file: fileName, row, byte, reason, message, excerpt: cursor.excerpt() })
        }
      },
    )
  } catch (error) {
    if (!(error instanceof BadFile)) throw error
    sink.counts.bad = { reason: error.reason, found: error.found }
  }
  await maker.settle()
  return sink.counts
}

/** What the scratch files of a batch are called. */
export function batchName(batch: number): string {
  return `batch-${String(batch).padStart(6, '0')}`
}
