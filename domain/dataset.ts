import type { Column } from './columns.ts'
import type { RowShape } from './row-shape.ts'
import type { DatasetOptions, Sampling } from './spec.ts'
import { trainSplit } from './splits.ts'

/** Layout of dataset manifests; another number means that older code must not touch the dataset. */
export const datasetLayout = 1

/** `current.json`: which version of a dataset counts. Only ever replaced by compare-and-swap. */
export interface DatasetPointer {
  layout: number
  version: number
  /** Key of the version's manifest, and the SHA-256 of its bytes. */
  manifest: string
  manifestHash: string
  /** How often the pointer was moved, this time included. */
  serial: number
  /** Earlier moves of the pointer and this one, newest last; the oldest are forgotten. */
  moves: PointerMove[]
}

export interface PointerMove {
  from?: number
  to: number
  /** ISO 8601. */
  at: string
  why: 'adopted' | 'merged' | 'rolled back' | 'restored'
}

/** How the rows of a dataset's files are written. */
export type DatasetFormat = 'jsonl' | 'parquet' | 'arrow'
/** Of the file for JSON lines, of the pages for Parquet (only there `snappy`); Arrow files are not compressed. */
export type Compression = 'none' | 'snappy' | 'gzip' | 'zstd'

/** How the files of a version are written. */
export interface Output {
  format: DatasetFormat
  compression: Compression
}

/** A file of a dataset version, with what it holds. */
export interface DatasetFile {
  /** Key below the version's root. */
  key: string
  split: string
  rows: number
  bytes: number
  /** SHA-256 of the file's bytes, in hex. */
  sha256: string
}

/** A file that belongs to a version and holds no rows: its card, or what `save_to_disk` writes beside the data. */
export type ExtraFile = Pick<DatasetFile, 'key' | 'bytes' | 'sha256'>

/** What became of the rows: `old + new = duplicates + dropped + merged`. */
export interface RowCounts {
  old: number
  new: number
  /** Rows that gave way to another one with the same conversation skeleton. */
  duplicates: number
  /** Rows left out by policy. */
  dropped: number
  merged: number
}

export interface MergeCounts extends RowCounts {
  /** Duplicates by the side that they were on. */
  gaveWay: { old: number; new: number }
  /** The same by source: each adds up on its own. */
  sources: Record<string, RowCounts>
  /** Rows left out, by why. */
  reasons: Record<string, number>
}

/** A run whose samples are in a version. */
export interface MergedRun {
  run: string
  /** URI of its manifest, and the SHA-256 of the manifest's bytes: what tells runs apart. */
  manifest: string
  manifestHash: string
  specHash: string
  model: string
  weightVersion: string
  samples: number
  /** How it asked, and where its prompts were taken from; left out where its spec is gone. */
  sampling?: Sampling
  sources?: string[]
  /** Version that the run was merged into. */
  version: number
}

/** `v0007/manifest.json`: written once and last, so its presence says that the version is whole. */
export interface DatasetManifest extends Output {
  layout: number
  version: number
  /** Version that this one was made of. */
  parent?: { version: number; manifestHash: string }
  /** Tells the merge that made it from others: the same inputs and options give the same id. */
  mergeId?: string
  /** ISO 8601. */
  createdAt: string
  /** Where the files lie when that is not the dataset itself: versions that were adopted from elsewhere. */
  root?: string
  rows: number
  bytes: number
  /** Conversations whose tokens an engine counted, and how many tokens those are. */
  tokens: { rows: number; tokens: number }
  files: DatasetFile[]
  extras: ExtraFile[]
  /** How rows hold a conversation; left out where no way is known. */
  shape?: RowShape
  columns: Column[]
  /** Each row ends with `promptId` and `provenance`. */
  hasProvenance: boolean
  /** Rows by source, where they were counted. */
  sources?: Record<string, number>
  counts?: MergeCounts
  /** The options that it was made with. */
  options?: Omit<DatasetOptions, 'uri' | 'backup'>
  /** Every run whose samples went into this version or one that it was made of. */
  runs: MergedRun[]
}

/** Where the parts of a dataset lie, relative to its store. */
export const datasetKeys = {
  pointer: 'current.json',
  /** Says which merge has the version's number, before any of its files is there. */
  claim: (version: number) => `${versionName(version)}/claim.json`,
  manifest: (version: number) => `${versionName(version)}/manifest.json`,
  /** Says that a version's number was given up before it was published: what is below it counts for nothing. */
  abandoned: (version: number) => `${versionName(version)}/abandoned.json`,
  card: (version: number) => `${versionName(version)}/README.md`,
  file: (version: number, place: FilePlace) => `${versionName(version)}/${fileName(place)}`,
}

export interface FilePlace extends Output {
  split: string
  /** The version has no other split. */
  isOnlySplit: boolean
  part: number
  parts: number
}

const extensions: Readonly<Record<Compression, string>> = {
  none: '.jsonl',
  snappy: '.jsonl',
  gzip: '.jsonl.gz',
  zstd: '.jsonl.zst',
}

function fileName({ split, isOnlySplit, format, compression, part, parts }: FilePlace): string {
  const number = String(part).padStart(5, '0')
  // The names that `save_to_disk` gives, and `load_from_disk` expects: one dataset, or a folder for each split.
  if (format === 'arrow') {
    return `${isOnlySplit ? '' : `${split}/`}data-${number}-of-${String(parts).padStart(5, '0')}.arrow`
  }
  const name = split === trainSplit ? 'part' : split
  return `${name}-${number}${format === 'parquet' ? '.parquet' : extensions[compression]}`
}

/** `7` → `v0007`. */
export function versionName(version: number): string {
  return `v${String(version).padStart(4, '0')}`
}
