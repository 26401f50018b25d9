import { type Data, Float16, makeBuilder, makeData } from 'apache-arrow'
import type { ColumnType } from '../../../domain/columns.ts'
import { arrowType } from './arrow-types.ts'
import { GrowingBytes, Offsets, Validity } from './growing-buffers.ts'

/** Makes a column of values as `cell-text.ts` writes them (exact style), after parsing. */
export interface ColumnBuilder {
  append(value: unknown): void
  finish(): Data
}

/** A value is of another type than its column: a mistake in how the column's type was found. */
export class WrongValue extends Error {
  override readonly name = 'WrongValue'
  constructor(type: ColumnType, value: unknown) {
    super(`a column of ${type.kind} was given ${JSON.stringify(value)?.slice(0, 80)}`)
  }
}

export function columnBuilder(type: ColumnType): ColumnBuilder {
  switch (type.kind) {
    case 'null':
      return new NullBuilder()
    case 'bool':
      return new BoolBuilder()
    case 'string':
    case 'json':
    case 'binary':
      return new BytesBuilder(type)
    case 'list':
      return new ListBuilder(type)
    case 'struct':
      return new StructBuilder(type)
    case 'map':
      return new MapBuilder(type)
    case 'decimal':
      return new DecimalBuilder(type)
    default:
      return type.kind === 'float' && type.bits === 16 ? new HalfBuilder() : new NumberBuilder(type)
  }
}

class NullBuilder implements ColumnBuilder {
  #length = 0

  append(): void {
    this.#length++
  }

  finish(): Data {
    return makeData({
      type: arrowType({ kind: 'null' }),
      length: this.#length,
      nullCount: this.#length,
    } as Parameters<typeof makeData>[0])
  }
}

class BoolBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #values = new Validity()

  append(value: unknown): void {
    this.#valid.add(value !== null && value !== undefined)
    this.#values.add(value === true)
  }

  finish(): Data {
    return finished({ kind: 'bool' }, this.#valid, { data: this.#values.bits })
  }
}

type BytesType = Extract<ColumnType, { kind: 'string' | 'json' | 'binary' }>

class BytesBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #offsets: Offsets
  readonly #bytes = new GrowingBytes()

  constructor(readonly type: BytesType) {
    this.#offsets = new Offsets(type.kind === 'string' && type.isLarge === true)
  }

  append(value: unknown): void {
    const isNull = value === null || value === undefined
    this.#valid.add(!isNull)
    if (!isNull) this.#add(value)
    this.#offsets.add(this.#bytes.length)
  }

  #add(value: unknown): void {
    if (this.type.kind === 'json') this.#bytes.addText(JSON.stringify(value))
    else if (typeof value !== 'string') throw new WrongValue(this.type, value)
    else if (this.type.kind === 'string') this.#bytes.addText(value)
    else this.#bytes.addBytes(Buffer.from(value, 'base64'))
  }

  finish(): Data {
    return finished(this.type, this.#valid, { valueOffsets: this.#offsets.values, data: this.#bytes.bytes })
  }
}

type NumberType = Exclude<
  ColumnType,
  BytesType | { kind: 'null' } | { kind: 'bool' } | { kind: 'decimal' } | { kind: 'list' | 'struct' | 'map' }
>

/** All that is stored as numbers of a fixed size. */
class NumberBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #values: (number | bigint)[] = []
  readonly #zero: number | bigint
  readonly #isBig: boolean

  constructor(readonly type: NumberType) {
    this.#isBig = isBig(type)
    this.#zero = this.#isBig ? 0n : 0
  }

  append(value: unknown): void {
    const isNull = value === null || value === undefined
    this.#valid.add(!isNull)
    this.#values.push(isNull ? this.#zero : this.#number(value))
  }

  #number(value: unknown): number | bigint {
    if (typeof value !== 'number' && typeof value !== 'string') throw new WrongValue(this.type, value)
    // Texts stand for what JSON numbers cannot say: large integers, and floats that are no numbers.
    return this.#isBig ? BigInt(value) : Number(value)
  }

  finish(): Data {
    const { ArrayType } = arrowType(this.type)
    const data = new (ArrayType as unknown as new (values: readonly unknown[]) => ArrayBufferView)(this.#values)
    return finished(this.type, this.#valid, { data })
  }
}

function isBig(type: NumberType): boolean {
  if (type.kind === 'int') return type.bits === 64
  if (type.kind === 'timestamp') return true
  return type.kind === 'time' && (type.unit === 'us' || type.unit === 'ns')
}

class HalfBuilder implements ColumnBuilder {
  readonly #builder = makeBuilder({ type: new Float16(), nullValues: [null, undefined] })

  append(value: unknown): void {
    this.#builder.append(typeof value === 'string' ? Number(value) : (value as number | null))
  }

  finish(): Data {
    return this.#builder.finish().flush()
  }
}

class DecimalBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #words: number[] = []

  constructor(readonly type: Extract<ColumnType, { kind: 'decimal' }>) {}

  append(value: unknown): void {
    const isNull = value === null || value === undefined
    this.#valid.add(!isNull)
    let left = BigInt.asUintN(128, isNull ? 0n : BigInt(value as string))
    for (let n = 0; n < 4; n++) {
      this.#words.push(Number(left & 0xffff_ffffn))
      left >>= 32n
    }
  }

  finish(): Data {
    return finished(this.type, this.#valid, { data: Uint32Array.from(this.#words) })
  }
}

class ListBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #offsets = new Offsets(false)
  readonly #items: ColumnBuilder
  #count = 0

  constructor(readonly type: Extract<ColumnType, { kind: 'list' }>) {
    this.#items = columnBuilder(type.item)
  }

  append(value: unknown): void {
    const isNull = value === null || value === undefined
    this.#valid.add(!isNull)
    if (!isNull) {
      if (!Array.isArray(value)) throw new WrongValue(this.type, value)
      for (const item of value) this.#items.append(item)
      this.#count += value.length
    }
    this.#offsets.add(this.#count)
  }

  finish(): Data {
    return finished(this.type, this.#valid, { valueOffsets: this.#offsets.values, child: this.#items.finish() })
  }
}

class StructBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #fields: { name: string; builder: ColumnBuilder }[]

  constructor(readonly type: Extract<ColumnType, { kind: 'struct' }>) {
    this.#fields = type.fields.map(({ name, type: inner }) => ({ name, builder: columnBuilder(inner) }))
  }

  append(value: unknown): void {
    const isNull = value === null || value === undefined
    if (!isNull && (typeof value !== 'object' || Array.isArray(value))) throw new WrongValue(this.type, value)
    this.#valid.add(!isNull)
    const members = (value ?? {}) as Record<string, unknown>
    for (const { name, builder } of this.#fields) builder.append(Object.hasOwn(members, name) ? members[name] : null)
  }

  finish(): Data {
    return finished(this.type, this.#valid, { children: this.#fields.map(({ builder }) => builder.finish()) })
  }
}

class MapBuilder implements ColumnBuilder {
  readonly #valid = new Validity()
  readonly #offsets = new Offsets(false)
  readonly #keys: ColumnBuilder
  readonly #values: ColumnBuilder
  #count = 0

  constructor(readonly type: Extract<ColumnType, { kind: 'map' }>) {
    this.#keys = columnBuilder(type.key)
    this.#values = columnBuilder(type.value)
  }

  append(value: unknown): void {
    const isNull = value === null || value === undefined
    this.#valid.add(!isNull)
    for (const [key, inner] of (value ?? []) as [unknown, unknown][]) {
      this.#keys.append(key)
      this.#values.append(inner)
      this.#count++
    }
    this.#offsets.add(this.#count)
  }

  finish(): Data {
    const { children } = arrowType(this.type)
    const child = makeData({
      type: children[0]?.type,
      length: this.#count,
      nullCount: 0,
      children: [this.#keys.finish(), this.#values.finish()],
    } as unknown as Parameters<typeof makeData>[0])
    return finished(this.type, this.#valid, { valueOffsets: this.#offsets.values, child })
  }
}

function finished(type: ColumnType, valid: Validity, buffers: object): Data {
  return makeData({
    ...buffers,
    type: arrowType(type),
    length: valid.length,
    nullCount: valid.unset,
    nullBitmap: valid.unset > 0 ? valid.bits : null,
  } as Parameters<typeof makeData>[0])
}
