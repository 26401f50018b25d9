const mebibyte = 1024 * 1024

/** What bounds the memory of a merge. None of them shows in its result. */
export interface MergeSizes {
  /** Text that is read in one go. */
  blockBytes: number
  /** A longer row stops the merge. */
  maxRowBytes: number
  /** Rows that are held before they are written out. */
  spillBytes: number
  /** Rows that are put into their final order in one go. */
  sliceBytes: number
  /** Entries (52 bytes) that are sorted in one go. */
  rangeRows: number
}

export const defaultMergeSizes: MergeSizes = {
  blockBytes: 4 * mebibyte,
  maxRowBytes: 64 * mebibyte,
  spillBytes: 64 * mebibyte,
  sliceBytes: 24 * mebibyte,
  rangeRows: 400_000,
}
