import { BadFile } from '../bad-file.ts'
import type { RowFinder } from './row-finder.ts'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

type State = 'before' | 'between' | 'inValue' | 'inString' | 'after'

/**
 * Rows are the elements of one JSON array, or JSON values that follow one another. Whether a row is valid is left to
 * whoever parses it; here only quotes and brackets count.
 */
export class ValueFinder implements RowFinder {
  spans: number[] = []
  #state: State
  #depth = 0
  #valueStart = 0
  /** Up to where the bytes are done with while no value is open. */
  #passed = 0
  #isEscaped = false
  /** Where the file's first byte lies by now, for messages. */
  #origin = 0

  constructor(readonly isArray: boolean) {
    this.#state = isArray ? 'before' : 'between'
  }

  get open(): number {
    return this.#state === 'inValue' || this.#state === 'inString' ? this.#valueStart : this.#passed
  }

  scan(bytes: Buffer, from: number, to: number): void {
    let at = from
    while (at < to) {
      at = this.#state === 'inString' ? this.#passString(bytes, at, to) : this.#step(bytes[at] ?? 0, at)
    }
    this.#passed = to
  }

  finish(to: number): void {
    const where = `at byte ${to - this.#origin}`
    if (this.isArray && this.#state !== 'after') throw new BadFile('truncated', `the array does not end, ${where}`)
    if (this.open < to && !this.isArray && this.#state !== 'between') this.spans.push(this.#valueStart, to)
    this.#state = 'after'
    this.#passed = to
  }

  shift(by: number): void {
    this.#valueStart -= by
    this.#passed -= by
    this.#origin -= by
  }

  /** Goes to the end of the string, or of what there is of it, from quote to quote. */
  #passString(bytes: Buffer, from: number, to: number): number {
    let at = this.#isEscaped ? from + 1 : from
    for (;;) {
      const next = bytes.indexOf(quote, at)
      const end = next < 0 || next > to ? to : next
      let slashes = 0
      while (end - slashes > at && bytes[end - slashes - 1] === backslash) slashes++
      this.#isEscaped = end === to && slashes % 2 === 1
      if (end === to) return to
      if (slashes % 2 === 0) {
        this.#state = 'inValue'
        return end + 1
      }
      at = end + 1
    }
  }

  #step(byte: number, at: number): number {
    switch (this.#state) {
      case 'before':
        if (byte === openBracket) this.#state = 'between'
        break
      case 'between':
        this.#betweenValues(byte, at)
        break
      case 'inValue':
        this.#inValue(byte, at)
        break
      case 'after':
        if (!isWhiteSpace(byte)) throw new BadFile('corrupt', `text follows the array, at byte ${at - this.#origin}`)
        break
    }
    return at + 1
  }

  #betweenValues(byte: number, at: number): void {
    if (isWhiteSpace(byte)) return
    if (this.isArray && byte === closeBracket) {
      this.#state = 'after'
      return
    }
    if (this.isArray && byte === comma) return
    this.#valueStart = at
    this.#state = 'inValue'
    this.#inValue(byte, at)
  }

  #inValue(byte: number, at: number): void {
    if (byte === quote) {
      this.#state = 'inString'
    } else if (byte === openBrace || byte === openBracket) {
      this.#depth++
    } else if (this.#depth === 0) {
      this.#atTopLevel(byte, at)
    } else if (byte === closeBrace || byte === closeBracket) {
      this.#depth--
      if (this.#depth === 0) this.#endValue(at + 1)
    }
  }

  /** A number, word or something broken outside of all brackets ends where the next value can begin. */
  #atTopLevel(byte: number, at: number): void {
    if (this.isArray && byte === closeBracket) {
      this.#endValue(at)
      this.#state = 'after'
    } else if (this.isArray ? byte === comma : isWhiteSpace(byte)) {
      this.#endValue(at)
    }
  }

  #endValue(end: number): void {
    this.spans.push(this.#valueStart, end)
    this.#state = 'between'
  }
}

function isWhiteSpace(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13)
}
