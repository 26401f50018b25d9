import type { DatasetManifest } from './dataset.ts'
import type { LeftOutReason } from './left-out.ts'
import type { TokenizeOptions } from './tokenize-spec.ts'

/** What became of the rows of a source. */
export interface SourceTokens {
  /** Rows read: samples, or rows of a dataset. */
  read: number
  /** Rows read that gave no row, by why. */
  leftOut: Partial<Record<LeftOutReason, number>>
  /** Rows made: several of one where it was split or its history rewritten. */
  rows: number
  /** How many of them have their engine's own ids. */
  rowsWithIds: number
  /** Rows that lost tokens behind `maxLength`. */
  cut: number
  /** Rows that would have been made besides others of the same row read, and were left out. */
  partsLeftOut: number
  tokens: number
  supervised: number
  /** Tokens of the longest row. */
  longest: number
}

export function noTokens(): SourceTokens {
  return {
    read: 0,
    leftOut: {},
    rows: 0,
    rowsWithIds: 0,
    cut: 0,
    partsLeftOut: 0,
    tokens: 0,
    supervised: 0,
    longest: 0,
  }
}

/** Adds figures of the same source. */
export function addTokens(sum: SourceTokens, more: SourceTokens): void {
  for (const key of ['read', 'rows', 'rowsWithIds', 'cut', 'partsLeftOut', 'tokens', 'supervised'] as const)
    sum[key] += more[key]
  sum.longest = Math.max(sum.longest, more.longest)
  for (const [reason, rows] of Object.entries(more.leftOut) as [LeftOutReason, number][]) {
    sum.leftOut[reason] = (sum.leftOut[reason] ?? 0) + rows
  }
}

/** Adds figures source by source. */
export function addSources(sums: Record<string, SourceTokens>, more: Readonly<Record<string, SourceTokens>>): void {
  for (const [source, tokens] of Object.entries(more)) {
    const sum = sums[source] ?? noTokens()
    sums[source] = sum
    addTokens(sum, tokens)
  }
}

/** Of which model ids are: what must not change between versions of a tokenized dataset. */
export interface ModelIdentity {
  /** SHA-256 of tokenizer.json. */
  tokenizerHash: string
  /** SHA-256 of the chat template and the tokens it names; left out where the model has no template. */
  templateHash?: string
  /** Ids are smaller than this. */
  idLimit: number
  /** Key of its files in the tokenized dataset. */
  filesKey: string
}

/** Rows and tokens: `old + new = duplicates + merged`, for each of the two. */
export interface TokenCounts {
  old: RowsAndTokens
  new: RowsAndTokens
  duplicates: RowsAndTokens
  merged: RowsAndTokens
}

export interface RowsAndTokens {
  rows: number
  tokens: number
}

/** What a source has in a version. */
export interface SourceShare extends RowsAndTokens {
  supervised: number
}

/** A run or a dataset's version that was tokenized. */
export interface TokenizedInput {
  kind: 'samples' | 'rows'
  manifest: string
  /** SHA-256 of the manifest's bytes. */
  manifestHash: string
  /** Version that it was tokenized for. */
  version: number
}

/** What the manifest of a tokenized dataset says beyond that of any dataset. */
export interface TokenizedFacts {
  /** Left out for versions that were adopted: nobody wrote down what made them. */
  model?: ModelIdentity
  /** Everything that was tokenized into it, whichever version that was for. */
  inputs: TokenizedInput[]
  /** What the version holds, by source. */
  sources: Record<string, SourceShare>
  /** What became of what was tokenized for this version, by source. */
  made: Record<string, SourceTokens>
  counts: TokenCounts
  options?: Omit<TokenizeOptions, 'uri' | 'tokenizer' | 'server'>
  /** Key of the list of rows that gave none; left out when there are none. */
  leftOut?: string
  /** Keys of the same rows in other formats. */
  alsoAs: string[]
}

/** `v0007/manifest.json` of a tokenized dataset. */
export interface TokenizedManifest extends DatasetManifest {
  tokenized: TokenizedFacts
}
