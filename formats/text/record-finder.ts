import { BadFile } from '../bad-file.ts'
import type { RowFinder } from './row-finder.ts'

const quote = 0x22
const newline = 10
const carriageReturn = 13

type State = 'fieldStart' | 'inField' | 'inQuotes' | 'afterQuote'

/** Rows are records of CSV or TSV: lines, except that a quoted field may hold line breaks. */
export class RecordFinder implements RowFinder {
  spans: number[] = []
  open = 0
  #state: State = 'fieldStart'
  #origin = 0

  constructor(readonly delimiter: number) {}

  scan(bytes: Buffer, from: number, to: number): void {
    const delimiter = this.delimiter
    let state = this.#state
    for (let at = from; at < to; at++) {
      const byte = bytes[at]
      if (state === 'inQuotes') {
        if (byte === quote) state = 'afterQuote'
      } else if (byte === newline) {
        this.spans.push(this.open, at)
        this.open = at + 1
        state = 'fieldStart'
      } else if (byte === quote && (state === 'fieldStart' || state === 'afterQuote')) {
        // Behind a quote it is the second of a pair, which stands for one quote in the text.
        state = 'inQuotes'
      } else if (byte === delimiter) {
        state = 'fieldStart'
      } else if (byte !== carriageReturn || state !== 'afterQuote') {
        state = 'inField'
      }
    }
    this.#state = state
  }

  finish(to: number): void {
    if (this.#state === 'inQuotes') {
      throw new BadFile('truncated', `a quoted field that begins after byte ${this.open - this.#origin} does not end`)
    }
    if (this.open < to) this.spans.push(this.open, to)
    this.open = to
  }

  shift(by: number): void {
    this.open -= by
    this.#origin -= by
  }
}
