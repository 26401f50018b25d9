import { type ByteStops, longestRow } from './byte-stops.ts'

/** What a value on a tape is. A key is followed by its value. */
export const tapeKind = { object: 1, array: 2, string: 3, number: 4, true: 5, false: 6, null: 7, key: 8 } as const

/** What is known of the bytes of a string on a tape. */
export const tapeFlag = {
  /** Escapes that `JSON.stringify` would not write: `\u…` and `\/`. All others stand for themselves. */
  rewritten: 1,
  /** A `<`, with which marks such as `<image>` begin. */
  less: 2,
  /** Any escape at all. */
  escaped: 4,
} as const

const maxDepth = 64
const maxKeys = 64

/** What may follow a backslash: 1 as it is, 2 rewritten, 3 four hex digits. */
const escapes = new Uint8Array(256)
for (const byte of Buffer.from('"\\bfnrt')) escapes[byte] = 1
escapes[47] = 2
escapes[117] = 3

/**
 * A row of JSON as a list of its values and where they lie, made without a string or an object: for rows that are taken
 * apart and put together again as bytes. It is stricter than JSON: deep nesting, many keys, or a key that seems to be there
 * twice are not taken; whoever uses it parses those. What it takes, `JSON.parse` takes as well. Bytes must be UTF-8.
 */
export class JsonTape {
  length = 0
  kinds = new Uint8Array(256)
  flags = new Uint8Array(256)
  /** First byte and the one after the last; of strings and keys without the quotes. */
  starts = new Int32Array(256)
  ends = new Int32Array(256)
  /** The entry after the value with all that is in it. */
  nexts = new Int32Array(256)
  /** Of keys: `keyHash`. */
  hashes = new Int32Array(256)
  readonly #open = new Int32Array(maxDepth)
  #bytes: Uint8Array = new Uint8Array(0)
  #stops: Uint32Array = new Uint32Array(0)
  #stopCount = 0
  /** The first stop that has not been passed. */
  #stop = 0
  #at = 0
  #end = 0

  /** Takes the row between two positions of the loaded block; false when it is not taken. */
  take(block: ByteStops, start: number, end: number): boolean {
    if (end - start > longestRow) return false
    this.#bytes = block.bytes
    this.#stops = block.stops
    this.#stopCount = block.find(start, end)
    this.#stop = 0
    this.#at = start
    this.#end = end
    this.length = 0
    this.#skipWhiteSpace()
    if (this.#byte() !== openBrace || !this.#values()) return false
    this.#skipWhiteSpace()
    return this.#at === end
  }

  /** All values, from the outermost object's brace to its end. */
  #values(): boolean {
    const open = this.#open
    let depth = 0
    for (;;) {
      // A value is expected here.
      this.#skipWhiteSpace()
      const byte = this.#byte()
      if (byte === openBrace || byte === openBracket) {
        if (depth === maxDepth) return false
        const isObject = byte === openBrace
        const entry = this.#add(isObject ? tapeKind.object : tapeKind.array, this.#at++)
        open[depth++] = entry
        this.#skipWhiteSpace()
        if (this.#byte() !== (isObject ? closeBrace : closeBracket)) {
          if (isObject && !this.#key(entry)) return false
          continue
        }
      } else if (!this.#scalar(byte)) {
        return false
      }
      // A value has ended: close what ends with it, or go on to the next one.
      for (;;) {
        if (depth === 0) return true
        this.#skipWhiteSpace()
        const entry = open[depth - 1] as number
        const isObject = this.kinds[entry] === tapeKind.object
        const next = this.#byte()
        this.#at++
        if (next === comma) {
          if (isObject && !this.#key(entry)) return false
          break
        }
        if (next !== (isObject ? closeBrace : closeBracket)) return false
        this.ends[entry] = this.#at
        this.nexts[entry] = this.length
        depth--
      }
    }
  }

  #scalar(byte: number): boolean {
    if (byte === quote) return this.#string(tapeKind.string)
    if (byte === 116) return this.#word('true', tapeKind.true)
    if (byte === 102) return this.#word('false', tapeKind.false)
    if (byte === 110) return this.#word('null', tapeKind.null)
    return this.#number(byte)
  }

  #key(object: number): boolean {
    this.#skipWhiteSpace()
    const key = this.length
    if (this.#byte() !== quote || !this.#string(tapeKind.key)) return false
    this.#skipWhiteSpace()
    if (this.#byte() !== colon) return false
    this.#at++
    const hash = keyHash(this.#bytes, this.starts[key] as number, this.ends[key] as number)
    this.hashes[key] = hash
    // Written with an escape, a key could be one that is there already without showing it.
    if (((this.flags[key] as number) & tapeFlag.escaped) !== 0) return false
    let keys = 0
    for (let other = object + 1; other < key; other = this.nexts[other + 1] as number) {
      if (this.hashes[other] === hash || ++keys > maxKeys) return false
    }
    return true
  }

  /** Goes from stop to stop: what lies between them needs no look. */
  #string(kind: number): boolean {
    const bytes = this.#bytes
    const stops = this.#stops
    const stopCount = this.#stopCount
    const start = this.#at + 1
    let stop = this.#stop
    while (stop < stopCount && (stops[stop] as number) < start) stop++
    let flags = 0
    for (;;) {
      if (stop >= stopCount) return false
      const at = stops[stop++] as number
      const byte = bytes[at] as number
      if (byte === quote) {
        const entry = this.#add(kind, start)
        this.ends[entry] = at
        this.flags[entry] = flags
        this.#at = at + 1
        this.#stop = stop
        return true
      }
      if (byte === backslash) {
        const kindOfEscape = escapes[bytes[at + 1] as number]
        if (kindOfEscape === 0) return false
        flags |= kindOfEscape === 1 ? tapeFlag.escaped : tapeFlag.escaped | tapeFlag.rewritten
        if (kindOfEscape === 3 && !isHex(bytes, at + 2)) return false
        // What is escaped may be a stop itself.
        if (stops[stop] === at + 1) stop++
      } else if (byte === less) {
        flags |= tapeFlag.less
      } else {
        return false
      }
    }
  }

  #word(word: string, kind: number): boolean {
    const entry = this.#add(kind, this.#at)
    for (let n = 0; n < word.length; n++) if (this.#bytes[this.#at++] !== word.charCodeAt(n)) return false
    this.ends[entry] = this.#at
    return this.#at <= this.#end
  }

  #number(first: number): boolean {
    const bytes = this.#bytes
    const entry = this.#add(tapeKind.number, this.#at)
    let at = this.#at + (first === minus ? 1 : 0)
    if (bytes[at] === zero) at++
    else if (!isDigit(bytes[at])) return false
    else while (isDigit(bytes[at])) at++
    if (bytes[at] === dot) {
      if (!isDigit(bytes[++at])) return false
      while (isDigit(bytes[at])) at++
    }
    if (bytes[at] === 101 || bytes[at] === 69) {
      at++
      if (bytes[at] === plus || bytes[at] === minus) at++
      if (!isDigit(bytes[at])) return false
      while (isDigit(bytes[at])) at++
    }
    this.ends[entry] = at
    this.#at = at
    return at <= this.#end
  }

  #add(kind: number, start: number): number {
    const entry = this.length++
    if (entry === this.kinds.length) this.#grow()
    this.kinds[entry] = kind
    this.flags[entry] = 0
    this.starts[entry] = start
    this.nexts[entry] = entry + 1
    return entry
  }

  #grow(): void {
    const size = this.kinds.length * 2
    this.kinds = copied(this.kinds, new Uint8Array(size))
    this.flags = copied(this.flags, new Uint8Array(size))
    this.starts = copied(this.starts, new Int32Array(size))
    this.ends = copied(this.ends, new Int32Array(size))
    this.nexts = copied(this.nexts, new Int32Array(size))
    this.hashes = copied(this.hashes, new Int32Array(size))
  }

  /** The byte at hand; what lies behind the row is none of its. */
  #byte(): number {
    return this.#at < this.#end ? (this.#bytes[this.#at] as number) : 0
  }

  #skipWhiteSpace(): void {
    for (let byte = this.#byte(); byte === 32 || byte === 10 || byte === 13 || byte === 9; byte = this.#byte())
      this.#at++
  }
}

const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]
const [quote, backslash, less, colon, comma] = [0x22, 0x5c, 0x3c, 0x3a, 0x2c]
const [minus, plus, dot, zero] = [0x2d, 0x2b, 0x2e, 0x30]

/** FNV-1a over the bytes of a key. */
export function keyHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = keyHashStart
  for (let at = start; at < end; at++) hash = keyHashStep(hash, bytes[at] as number)
  return hash
}

export const keyHashStart = 0x811c9dc5

export function keyHashStep(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193)
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57
}

function isHex(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + 4; at++) {
    const byte = bytes[at] ?? 0
    const isHexDigit = (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 70) || (byte >= 97 && byte <= 102)
    if (!isHexDigit) return false
  }
  return true
}

function copied<Numbers extends Uint8Array | Int32Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from)
  return to
}
