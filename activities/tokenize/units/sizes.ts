const mebibyte = 1024 * 1024

/** What bounds the memory of tokenizing a file. None of them shows in its result. */
export interface TokenizeSizes {
  /** Text that a thread works on in one go. */
  readonly blockBytes: number
  /** A longer row stops the stage. */
  readonly maxRowBytes: number
  /** Begin of a file that is tokenized again to see whether its cached tokens are those of this code. */
  readonly probeBytes: number
  /** Every so many-th row is decoded again and held against its text. */
  readonly checkEvery: number
}

export const defaultTokenizeSizes: TokenizeSizes = {
  blockBytes: 4 * mebibyte,
  maxRowBytes: 64 * mebibyte,
  probeBytes: 64 * 1024,
  checkEvery: 16,
}
