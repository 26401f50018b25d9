import { Float, type Value } from './values.ts'

/**
 * Reads JSON without losing what Python would keep: `1.0` stays a float, whole numbers beyond 2^53 keep their digits, keys
 * that look like numbers keep their place. Throws `SyntaxError`.
 */
export function parseJsonValue(text: string): Value {
  // Checks the grammar, so that the reader below need not.
  JSON.parse(text)
  return new Reader(text).value()
}

class Reader {
  #at = 0

  constructor(readonly text: string) {}

  value(): Value {
    this.#skipSpace()
    const char = this.text[this.#at]
    if (char === '{') return this.#dict()
    if (char === '[') return this.#list()
    if (char === '"') return this.#string()
    const [word = ''] = this.#match(/[^\s,\]}]+/y)
    if (word === 'null') return null
    if (word === 'true' || word === 'false') return word === 'true'
    if (/[.eE]/.test(word)) return new Float(Number(word))
    const whole = Number(word)
    return Number.isSafeInteger(whole) ? whole + 0 : BigInt(word)
  }

  #dict(): Map<Value, Value> {
    const dict = new Map<Value, Value>()
    this.#at++
    while (!this.#ends('}')) {
      const key = this.#string()
      this.#skipSpace()
      this.#at++
      dict.set(key, this.value())
    }
    return dict
  }

  #list(): Value[] {
    const list: Value[] = []
    this.#at++
    while (!this.#ends(']')) list.push(this.value())
    return list
  }

  #ends(close: string): boolean {
    this.#skipSpace()
    if (this.text[this.#at] === ',') this.#at++
    this.#skipSpace()
    if (this.text[this.#at] !== close) return false
    this.#at++
    return true
  }

  #string(): string {
    const start = this.#at
    let end = this.text.indexOf('"', start + 1)
    while (this.#isEscaped(end)) end = this.text.indexOf('"', end + 1)
    this.#at = end + 1
    return JSON.parse(this.text.slice(start, end + 1)) as string
  }

  #isEscaped(at: number): boolean {
    let slashes = 0
    while (this.text[at - 1 - slashes] === '\\') slashes++
    return slashes % 2 === 1
  }

  #skipSpace(): void {
    this.#match(/\s*/y)
  }

  #match(pattern: RegExp): RegExpExecArray | [] {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.text)
    this.#at = pattern.lastIndex
    return match ?? []
  }
}
