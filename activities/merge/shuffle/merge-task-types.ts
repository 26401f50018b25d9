import type { Column } from '../../../domain/columns.ts'
import type { Output } from '../../../domain/dataset.ts'
import type { RowShape } from '../../../domain/row-shape.ts'
import type { DatasetOptions } from '../../../domain/spec.ts'
import type { TypeSketch } from '../../../domain/type-sketch.ts'
import type { Piece } from '../../../formats/pieces.ts'
import type { Spill } from '../../../shuffle/spill-writer.ts'
import type { NearBatch } from '../near/near-writer.ts'
import type { MergeSizes } from '../sizes.ts'

export type Side = 'old' | 'new'

/** Old rows of a split that models are tested with are counted apart: nothing is drawn from them. */
export type ReadSide = Side | 'heldOut'

/** A file whose rows are merged. Files are numbered from 0, those of the dataset before those of the run. */
export interface MergeFile {
  readonly side: Side
  /** What the provenance of its rows says. */
  readonly name: string
  readonly split: string
  /** Old: each row ends with the columns that Longhaul writes. */
  readonly isOwn: boolean
}

/** What every thread knows from its start: small, and the same for all. */
export interface MergeContext {
  readonly folder: string
  readonly sizes: MergeSizes
  readonly options: DatasetOptions
  readonly files: readonly MergeFile[]
  /** Version that is merged into (0: none), and the name of the run. */
  readonly baseVersion: number
  readonly run: string
  /** How new rows are written, and the columns of the old ones without those that say where they come from. */
  readonly shape: RowShape
  readonly columns: readonly Column[]
  /** Rows end with `promptId` and `provenance`. */
  readonly hasProvenance: boolean
  /** Splits of the version in the order of its files; training first. */
  readonly splits: readonly string[]
  readonly output: Output
}

/** A piece of one of the files. */
export interface NumberedPiece {
  readonly file: number
  readonly piece: Piece
}

/** Pieces that are scanned in one go. */
export interface MergeBatch {
  readonly batch: number
  /** How far reading had got, from 0 to 1: never less than for the batch before. */
  readonly progress: number
  readonly pieces: readonly NumberedPiece[]
}

/** A spill, and the sources that the tags of its rows stand for, as numbers of the merge's list of sources. */
export interface MergeSpill extends Spill {
  readonly sources: readonly number[]
}

/** What was seen in a batch of pieces. Its rows are with the thread, until that is flushed. */
export interface ScannedBatch {
  /** Names of the batch's sources, in the order in which they came. */
  readonly sources: readonly string[]
  /** Rows read by side, and rows left out by why: for each of the sources. */
  readonly read: Readonly<Record<ReadSide, readonly number[]>>
  readonly dropped: Readonly<Record<string, readonly number[]>>
  /** What was seen of the rows as they will be written. */
  readonly sketch: TypeSketch
  /** The first row that can't be read (0: the file itself): then nothing else of the batch counts. */
  readonly bad?: { readonly file: number; readonly row: number; readonly problem: string }
}

/** All rows that a thread has spilled. */
export interface FlushedThread {
  readonly spills: readonly Spill[]
  /** Names of the sources that the tags of the rows stand for. */
  readonly sources: readonly string[]
  /** With `near`: what is left of the rows for the search for near duplicates. */
  readonly near: readonly NearBatch[]
}

/** Rows that give way to another one with the same conversation. */
export interface Duplicates {
  /** For each its file, its row, its tag, the spill (or near batch) that has it, and 1 for new rows, else 0. */
  readonly drops: Uint32Array
}

/** Rows of a part of the key space in their final order, for one split. */
export interface OrderedSplit {
  readonly split: number
  /** Of its `.order` file. */
  readonly name: string
  readonly places: number
  readonly bytes: number
}

/** Where rows lie in the order: so many places of a range from a first one on. */
export interface Stretch {
  readonly range: string
  readonly firstPlace: number
  readonly places: number
}

/** Rows as they will lie in a file. */
export interface EncodedBlock {
  readonly bytes: Uint8Array
  readonly rows: number
  /** Before encoding. */
  readonly textBytes: number
  readonly tokens: number
  readonly rowsWithTokens: number
  /** Rows by source, each of them a number of the merge's list. */
  readonly sources: Readonly<Record<number, number>>
}

/** Where the rows of a file's block are, and memory to put them in. */
export interface EncodeInput {
  readonly spills: readonly Pick<MergeSpill, 'name' | 'sources'>[]
  readonly stretches: readonly Stretch[]
  /** All columns of the rows, for formats that have such. */
  readonly columns: readonly Column[]
  /** Memory for the result, shared with the thread that asked. */
  readonly space: SharedArrayBuffer
}

/** The CPU-heavy steps, each a function of its input and the scratch files that it names. */
export interface MergeTasks {
  scan(input: MergeBatch): Promise<ScannedBatch>
  /** Writes out what each thread still holds. To be called once, after all scans. */
  flush(): Promise<FlushedThread[]>
  findDuplicates(input: { spills: readonly MergeSpill[]; fromStep: number; toStep: number }): Promise<Duplicates>
  findNear(input: { batches: readonly NearBatch[]; fromStep: number; toStep: number }): Promise<Duplicates>
  order(input: {
    spills: readonly MergeSpill[]
    fromStep: number
    toStep: number
    /** Draw keys up to which rows are kept, by side and source (see `drawSet`). */
    limits: ReadonlyMap<number, bigint>
    name: string
  }): Promise<OrderedSplit[]>
  encode(input: EncodeInput): Promise<EncodedBlock>
}

/** Rows that are drawn from together: those of a side and a source. */
export function drawSet(side: Side, source: number): number {
  return source * 2 + (side === 'new' ? 1 : 0)
}
