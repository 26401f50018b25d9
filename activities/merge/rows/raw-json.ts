/**
 * JSON as bytes that were looked through but not decoded: where each value begins and ends. Rows are long texts of which the
 * merge wants to know little and copy most, so not making strings of them is most of its speed.
 */
export interface RawNode {
  readonly kind: 'object' | 'array' | 'string' | 'int' | 'float' | 'bool' | 'null'
  /** Span in the bytes, quotes and brackets included. */
  readonly start: number
  readonly end: number
  /** Names of an object's members; the same name again counts for its last value. */
  readonly names?: readonly string[]
  /** Values of an object's members or an array's items. A list of numbers has only what stands for them all. */
  readonly items?: readonly RawNode[]
}

/** The bytes are no JSON; found without looking inside of texts and of lists of numbers. */
export class RawSyntax extends Error {
  override readonly name = 'RawSyntax'
  constructor(
    readonly at: number,
    readonly expected: string,
  ) {
    super(`${expected} expected at byte ${at}`)
  }
}

/** Looks through the one JSON value between two positions. Throws `RawSyntax`. */
export function parseRaw(bytes: Buffer, start: number, end: number): RawNode {
  const parser = new RawParser(bytes, start, end)
  const node = parser.value(0)
  parser.finish()
  return node
}

/** A member's value. */
export function memberOf({ names = [], items = [] }: RawNode, name: string): RawNode | undefined {
  const n = names.lastIndexOf(name)
  return n < 0 ? undefined : items[n]
}

/** Decodes a value and all that is in it. */
export function decodeRaw(bytes: Buffer, { start, end }: RawNode): unknown {
  return JSON.parse(bytes.toString('utf8', start, end))
}

const quote = 34
const comma = 44
const colon = 58
const backslash = 92
const minus = 45
const point = 46
const exponent = 101
/** So many digits fit 64 bits for certain. */
const safeDigits = 18
const openBracket = 91
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

/** Bytes that texts, lists, objects and words (true, false, null) have, and numbers do not. */
const elsewhereThanNumbers = [quote, openBracket, openBrace, 97, 117]

const deepest = 256
/** Texts up to this length are looked through byte by byte: calling out costs more than that. */
const shortText = 24

function fitsInt64(digits: string): boolean {
  const value = Number(digits)
  return Math.abs(value) < 2 ** 63
}

class RawParser {
  #at: number

  constructor(
    readonly bytes: Buffer,
    start: number,
    readonly end: number,
  ) {
    this.#at = start
  }

  /** Only white space may follow. */
  finish(): void {
    this.#skipSpace()
    if (this.#at < this.end) throw new RawSyntax(this.#at, 'the end of the row')
  }

  value(depth: number): RawNode {
    if (depth > deepest) throw new RawSyntax(this.#at, `at most ${deepest} levels`)
    this.#skipSpace()
    const start = this.#at
    switch (this.bytes[start]) {
      case quote:
        this.#passText()
        return { kind: 'string', start, end: this.#at }
      case openBrace:
        return this.#object(start, depth)
      case openBracket:
        return this.#array(start, depth)
      case 116:
        return this.#word('true', 'bool')
      case 102:
        return this.#word('false', 'bool')
      case 110:
        return this.#word('null', 'null')
      default:
        return this.#number()
    }
  }

  #object(start: number, depth: number): RawNode {
    const names: string[] = []
    const items: RawNode[] = []
    this.#at++
    this.#skipSpace()
    if (this.bytes[this.#at] === closeBrace) this.#at++
    else
      for (;;) {
        this.#skipSpace()
        names.push(this.#name())
        this.#skipSpace()
        this.#take(colon, 'a colon')
        items.push(this.value(depth + 1))
        if (this.#endsList(closeBrace)) break
      }
    return { kind: 'object', start, end: this.#at, names, items }
  }

  #array(start: number, depth: number): RawNode {
    this.#at++
    this.#skipSpace()
    const numbers = this.#numbers(start)
    if (numbers) return numbers
    const items: RawNode[] = []
    if (this.bytes[this.#at] === closeBracket) this.#at++
    else
      for (;;) {
        items.push(this.value(depth + 1))
        if (this.#endsList(closeBracket)) break
      }
    return { kind: 'array', start, end: this.#at, items }
  }

  /** A list of nothing but numbers is passed at once: thousands of token ids are no thousands of nodes. */
  #numbers(start: number): RawNode | undefined {
    const first = this.bytes[this.#at] as number
    if (first !== minus && (first < 48 || first > 57)) return undefined
    const close = this.bytes.indexOf(closeBracket, this.#at)
    if (close < 0 || close >= this.end) throw new RawSyntax(start, 'the end of a list that begins here')
    const inside = this.bytes.subarray(this.#at, close)
    if (elsewhereThanNumbers.some((byte) => inside.includes(byte))) return undefined
    const kind = inside.includes(point) || inside.includes(exponent) ? 'float' : 'int'
    const items: RawNode[] = [{ kind, start: this.#at, end: close }]
    this.#at = close + 1
    return { kind: 'array', start, end: this.#at, items }
  }

  /** Passes the comma before the next item, or the end of the list. */
  #endsList(close: number): boolean {
    this.#skipSpace()
    if (this.bytes[this.#at] === comma) {
      this.#at++
      return false
    }
    this.#take(close, 'a comma or the end of the list')
    return true
  }

  #name(): string {
    const start = this.#at
    const isPlain = this.#passText()
    if (isPlain) return this.bytes.toString('latin1', start + 1, this.#at - 1)
    return JSON.parse(this.bytes.toString('utf8', start, this.#at)) as string
  }

  /** Passes a text; says whether it is short and plain ASCII for certain. */
  #passText(): boolean {
    const { bytes, end } = this
    this.#take(quote, 'a quote')
    let at = this.#at
    let seen = 0
    for (const stop = Math.min(end, at + shortText); at < stop; at++) {
      const byte = bytes[at] as number
      if (byte === backslash) break
      if (byte === quote) {
        this.#at = at + 1
        return seen < 128
      }
      seen |= byte
    }
    for (;;) {
      const close = bytes.indexOf(quote, at)
      if (close < 0 || close >= end) throw new RawSyntax(this.#at, 'the end of a text that begins here')
      let slashes = 0
      while (bytes[close - 1 - slashes] === backslash) slashes++
      if (slashes % 2 === 0) {
        this.#at = close + 1
        return false
      }
      at = close + 1
    }
  }

  #number(): RawNode {
    const start = this.#at
    let at = start
    let kind: 'int' | 'float' = 'int'
    for (; at < this.end; at++) {
      const byte = this.bytes[at] as number
      if ((byte >= 48 && byte <= 57) || byte === 45) continue
      if (byte === 46 || byte === 101 || byte === 69 || byte === 43) kind = 'float'
      else break
    }
    if (at === start) throw new RawSyntax(at, 'a value')
    this.#at = at
    const isLarge = kind === 'int' && at - start > safeDigits && !fitsInt64(this.bytes.toString('latin1', start, at))
    return { kind: isLarge ? 'float' : kind, start, end: at }
  }

  #word(word: string, kind: 'bool' | 'null'): RawNode {
    const start = this.#at
    const end = start + word.length
    if (end > this.end || this.bytes.toString('latin1', start, end) !== word) throw new RawSyntax(start, word)
    this.#at = end
    return { kind, start, end }
  }

  #take(byte: number, what: string): void {
    if (this.#at >= this.end || this.bytes[this.#at] !== byte) throw new RawSyntax(this.#at, what)
    this.#at++
  }

  #skipSpace(): void {
    while (this.#at < this.end) {
      const byte = this.bytes[this.#at] as number
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return
      this.#at++
    }
  }
}
