const mebibyte = 1024 * 1024

/** What bounds the memory of a merge. None of them shows in its result. */
export interface MergeSizes {
  /** Text that a thread parses in one go. */
  blockBytes: number
  /** A longer row stops the merge. */
  maxRowBytes: number
  /** Rows that a thread holds before it writes them out. */
  spillBytes: number
  /** Entries (56 bytes) that are sorted in one go. */
  rangeRows: number
}

export const defaultMergeSizes: MergeSizes = {
  blockBytes: 4 * mebibyte,
  maxRowBytes: 64 * mebibyte,
  spillBytes: 64 * mebibyte,
  rangeRows: 400_000,
}
