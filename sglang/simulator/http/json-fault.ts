export interface JsonFault {
  /** In the words of Python's decoder. */
  message: string
  /** Characters before it. */
  at: number
}

/** Where Python's JSON decoder would give up on a text, and what it would say. */
export function jsonFault(text: string): JsonFault {
  const reader = new Reader(text)
  try {
    reader.value()
    reader.skipSpace()
    return { message: 'Extra data', at: reader.at }
  } catch (fault) {
    if (fault instanceof Fault) return { message: fault.message, at: fault.at }
    throw fault
  }
}

class Fault extends Error {
  override readonly name = 'Fault'
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message)
  }
}

const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity)/y

class Reader {
  at = 0
  constructor(readonly text: string) {}

  skipSpace(): void {
    while (' \t\n\r'.includes(this.text[this.at] ?? '.')) this.at++
  }

  value(): void {
    this.skipSpace()
    const next = this.text[this.at]
    if (next === '"') return this.string()
    if (next === '{') return this.object()
    if (next === '[') return this.array()
    scalar.lastIndex = this.at
    const match = scalar.exec(this.text)
    if (!match) throw new Fault('Expecting value', this.at)
    this.at += match[0].length
  }

  string(): void {
    const start = this.at
    for (this.at++; ; this.at++) {
      const char = this.text[this.at]
      if (char === undefined) throw new Fault('Unterminated string starting at', start)
      if (char === '"') break
      if (char < ' ') throw new Fault('Invalid control character at', this.at)
      if (char === '\\') this.escape(start)
    }
    this.at++
  }

  escape(start: number): void {
    this.at++
    const char = this.text[this.at]
    if (char === undefined) throw new Fault('Unterminated string starting at', start)
    if (char === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(this.text.slice(this.at + 1, this.at + 5))) {
        throw new Fault('Invalid \\uXXXX escape', this.at)
      }
      this.at += 4
    } else if (!'"\\/bfnrt'.includes(char)) throw new Fault('Invalid \\escape', this.at - 1)
  }

  array(): void {
    this.at++
    this.skipSpace()
    if (this.text[this.at] === ']') {
      this.at++
      return
    }
    for (;;) {
      this.value()
      if (this.#endsWith(']')) return
    }
  }

  object(): void {
    this.at++
    this.skipSpace()
    if (this.text[this.at] === '}') {
      this.at++
      return
    }
    for (;;) {
      this.skipSpace()
      if (this.text[this.at] !== '"') throw new Fault('Expecting property name enclosed in double quotes', this.at)
      this.string()
      this.skipSpace()
      if (this.text[this.at] !== ':') throw new Fault("Expecting ':' delimiter", this.at)
      this.at++
      this.value()
      if (this.#endsWith('}')) return
    }
  }

  #endsWith(bracket: string): boolean {
    this.skipSpace()
    const next = this.text[this.at]
    if (next !== bracket && next !== ',') throw new Fault("Expecting ',' delimiter", this.at)
    this.at++
    return next === bracket
  }
}
