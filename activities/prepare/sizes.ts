const mebibyte = 1024 * 1024

/** What bounds the memory of the prepare stage. None of them shows in its result. */
export interface PrepareSizes {
  /** Text that a thread parses in one go. */
  blockBytes: number
  /** Longer rows are rejected. */
  maxRowBytes: number
  /** Prompts that a thread holds before it writes them out. */
  spillBytes: number
  /** Prompts that are put into their final order in one go. */
  sliceBytes: number
  /** Entries (56 bytes) that are sorted in one go. */
  rangeRows: number
  /** A piece of Parquet or Arrow that takes longer counts as damaged: so long at least, and so long per MiB. */
  pieceMs: number
  pieceMsPerMb: number
}

export const defaultSizes: PrepareSizes = {
  blockBytes: 16 * mebibyte,
  maxRowBytes: 16 * mebibyte,
  spillBytes: 32 * mebibyte,
  sliceBytes: 24 * mebibyte,
  rangeRows: 400_000,
  pieceMs: 30_000,
  pieceMsPerMb: 1_000,
}
