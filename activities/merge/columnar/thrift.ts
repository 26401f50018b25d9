/**
 * The compact protocol of Apache Thrift, as much of it as Parquet footers use, without their schema: enough to change a few
 * numbers in a footer and leave the rest as it is.
 */
export type ThriftValue =
  | { readonly type: 'bool'; value: boolean }
  | { readonly type: 'int'; readonly code: number; value: bigint }
  | { readonly type: 'bytes'; readonly code: number; value: Uint8Array }
  | { readonly type: 'list'; readonly item: number; value: ThriftValue[] }
  | { readonly type: 'struct'; value: ThriftStruct }

/** Fields by their ids, in the order of the ids. */
export type ThriftStruct = Map<number, ThriftValue>

const codes = { true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, struct: 12 } as const

export function intOf(value: ThriftValue | undefined): bigint | undefined {
  return value?.type === 'int' ? value.value : undefined
}

export function structOf(value: ThriftValue | undefined): ThriftStruct {
  return value?.type === 'struct' ? value.value : new Map()
}

export function listOf(value: ThriftValue | undefined): ThriftValue[] {
  return value?.type === 'list' ? value.value : []
}

export function readThrift(bytes: Uint8Array): ThriftStruct {
  return new ThriftReader(bytes).struct()
}

export function writeThrift(struct: ThriftStruct): Uint8Array {
  const writer = new ThriftWriter()
  writer.struct(struct)
  return Buffer.concat(writer.pieces)
}

class ThriftReader {
  #at = 0

  constructor(readonly bytes: Uint8Array) {}

  struct(): ThriftStruct {
    const fields: ThriftStruct = new Map()
    let id = 0
    for (;;) {
      const head = this.#byte()
      if (head === 0) return fields
      const step = head >> 4
      id = step === 0 ? Number(this.#int()) : id + step
      fields.set(id, this.#value(head & 15))
    }
  }

  #value(code: number): ThriftValue {
    switch (code) {
      case codes.true:
      case codes.false:
        return { type: 'bool', value: code === codes.true }
      case codes.byte:
        return { type: 'int', code, value: BigInt(this.#byte()) }
      case codes.i16:
      case codes.i32:
      case codes.i64:
        return { type: 'int', code, value: this.#int() }
      case codes.double:
        return { type: 'bytes', code, value: this.#take(8) }
      case codes.binary:
        return { type: 'bytes', code, value: this.#take(Number(this.#unsigned())) }
      case codes.list:
        return this.#list()
      case codes.struct:
        return { type: 'struct', value: this.struct() }
      default:
        throw new RangeError(`Thrift type ${code} is not expected in a Parquet footer`)
    }
  }

  #list(): ThriftValue {
    const head = this.#byte()
    const item = head & 15
    const size = head >> 4 === 15 ? Number(this.#unsigned()) : head >> 4
    const isBool = item === codes.true || item === codes.false
    const value = Array.from({ length: size }, () => this.#value(isBool ? this.#byte() : item))
    return { type: 'list', item, value }
  }

  #int(): bigint {
    const coded = this.#unsigned()
    return (coded >> 1n) ^ -(coded & 1n)
  }

  #unsigned(): bigint {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }

  #byte(): number {
    const byte = this.bytes[this.#at++]
    if (byte === undefined) throw new RangeError('The Parquet footer ends too early')
    return byte
  }

  #take(length: number): Uint8Array {
    const taken = this.bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }
}

class ThriftWriter {
  readonly pieces: Uint8Array[] = []

  struct(fields: ThriftStruct): void {
    let last = 0
    for (const [id, value] of [...fields].sort(([a], [b]) => a - b)) {
      const code = codeOf(value)
      const step = id - last
      if (step > 0 && step < 16) this.#bytes((step << 4) | code)
      else {
        this.#bytes(code)
        this.#int(BigInt(id))
      }
      if (value.type !== 'bool') this.#value(value)
      last = id
    }
    this.#bytes(0)
  }

  #value(value: ThriftValue): void {
    switch (value.type) {
      case 'bool':
        this.#bytes(value.value ? codes.true : codes.false)
        break
      case 'int':
        if (value.code === codes.byte) this.#bytes(Number(value.value))
        else this.#int(value.value)
        break
      case 'bytes':
        if (value.code === codes.binary) this.#unsigned(BigInt(value.value.length))
        this.pieces.push(value.value)
        break
      case 'list': {
        const { length } = value.value
        this.#bytes((Math.min(length, 15) << 4) | value.item)
        if (length >= 15) this.#unsigned(BigInt(length))
        for (const item of value.value) this.#value(item)
        break
      }
      case 'struct':
        this.struct(value.value)
    }
  }

  #int(value: bigint): void {
    this.#unsigned(BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)))
  }

  #unsigned(value: bigint): void {
    const bytes: number[] = []
    let left = value
    for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
    this.#bytes(...bytes, Number(left))
  }

  #bytes(...bytes: number[]): void {
    this.pieces.push(Uint8Array.from(bytes))
  }
}

function codeOf(value: ThriftValue): number {
  switch (value.type) {
    case 'bool':
      return value.value ? codes.true : codes.false
    case 'list':
      return codes.list
    case 'struct':
      return codes.struct
    default:
      return value.code
  }
}
