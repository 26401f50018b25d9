/**
 * Finds where rows begin and end in text that comes in pieces. Positions are relative to a buffer that the cutter owns:
 * when it drops bytes from the front, it says so by `shift`.
 */
export interface RowFinder {
  /** Start and end of every whole row found so far and not taken yet, in turns. */
  spans: number[]
  /** Where the row begins that is not whole yet; all before it is done with. */
  readonly open: number
  /** Looks through the bytes from `from` to `to`. */
  scan(bytes: Buffer, from: number, to: number): void
  /** No more bytes come: ends the last row, or throws `BadFile` when the file can't end here. */
  finish(to: number): void
  /** The buffer lost so many bytes at its front. */
  shift(by: number): void
}

/** Rows are lines. Blank ones are rows too: they count as lines, and whoever reads them passes over them. */
export class LineFinder implements RowFinder {
  spans: number[] = []
  open = 0

  scan(bytes: Buffer, from: number, to: number): void {
    const part = to === bytes.length ? bytes : bytes.subarray(0, to)
    for (let end = part.indexOf(10, from); end >= 0; end = part.indexOf(10, end + 1)) {
      this.spans.push(this.open, end)
      this.open = end + 1
    }
  }

  finish(to: number): void {
    if (this.open < to) this.spans.push(this.open, to)
    this.open = to
  }

  shift(by: number): void {
    this.open -= by
  }
}
