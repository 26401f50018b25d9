import * as arrow from 'apache-arrow'
import type { Column, ColumnType, TimeUnit } from '../../../domain/columns.ts'

/** A column of a type that rows cannot be carried over in. */
export class UnsupportedColumn extends Error {
  override readonly name = 'UnsupportedColumn'
  constructor(
    readonly column: string,
    readonly type: string,
  ) {
    super(`column ${column} is of type ${type}, which can not be carried over; convert or drop it`)
  }
}

const units: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns']

/** Columns of an Arrow schema. Throws `UnsupportedColumn`. */
export function columnsOfSchema(schema: arrow.Schema): Column[] {
  return schema.fields.map((field) => ({ name: field.name, type: typeOf(field, field.name) }))
}

function typeOf({ type }: arrow.Field, column: string): ColumnType {
  const inner = (child: arrow.Field | undefined): ColumnType => {
    if (!child) throw new UnsupportedColumn(column, String(type))
    return typeOf(child, column)
  }
  if (arrow.DataType.isDictionary(type)) return typeOf(new arrow.Field(column, type.dictionary), column)
  if (arrow.DataType.isNull(type)) return { kind: 'null' }
  if (arrow.DataType.isBool(type)) return { kind: 'bool' }
  if (arrow.DataType.isInt(type)) return intType(type)
  if (arrow.DataType.isFloat(type)) return { kind: 'float', bits: ([16, 32, 64] as const)[type.precision] ?? 64 }
  if (arrow.DataType.isUtf8(type)) return { kind: 'string' }
  if (arrow.DataType.isLargeUtf8(type)) return { kind: 'string', isLarge: true }
  if (arrow.DataType.isBinary(type) || arrow.DataType.isLargeBinary(type)) return { kind: 'binary' }
  if (arrow.DataType.isFixedSizeBinary(type)) return { kind: 'binary' }
  if (arrow.DataType.isDate(type)) {
    return type.unit === arrow.DateUnit.DAY ? { kind: 'date' } : { kind: 'timestamp', unit: 'ms' }
  }
  if (arrow.DataType.isTime(type)) return { kind: 'time', unit: units[type.unit] ?? 'us' }
  if (arrow.DataType.isTimestamp(type)) {
    const zone = type.timezone ?? undefined
    return { kind: 'timestamp', unit: units[type.unit] ?? 'us', ...(zone !== undefined && { zone }) }
  }
  if (arrow.DataType.isDecimal(type) && type.bitWidth === 128) {
    return { kind: 'decimal', precision: type.precision, scale: type.scale }
  }
  if (arrow.DataType.isList(type) || arrow.DataType.isFixedSizeList(type)) {
    return { kind: 'list', item: inner(type.children[0]) }
  }
  if (arrow.DataType.isStruct(type)) {
    return { kind: 'struct', fields: type.children.map((field) => ({ name: field.name, type: typeOf(field, column) })) }
  }
  if (arrow.DataType.isMap(type)) {
    const entries = type.children[0]?.type as arrow.Struct | undefined
    return { kind: 'map', key: inner(entries?.children[0]), value: inner(entries?.children[1]) }
  }
  throw new UnsupportedColumn(column, String(type))
}

function intType({ bitWidth, isSigned }: arrow.Int): ColumnType {
  return { kind: 'int', bits: bitWidth, ...(!isSigned && { isUnsigned: true as const }) }
}

/** The Arrow type that a column is written with. */
export function arrowType(type: ColumnType): arrow.DataType {
  switch (type.kind) {
    case 'null':
      return new arrow.Null()
    case 'bool':
      return new arrow.Bool()
    case 'int':
      return intOf(type.bits, type.isUnsigned ?? false)
    case 'float':
      return type.bits === 16 ? new arrow.Float16() : type.bits === 32 ? new arrow.Float32() : new arrow.Float64()
    case 'string':
      return type.isLarge ? new arrow.LargeUtf8() : new arrow.Utf8()
    case 'json':
      return new arrow.Utf8()
    case 'binary':
      return new arrow.Binary()
    case 'date':
      return new arrow.DateDay()
    case 'time':
      return new arrow.Time(units.indexOf(type.unit), type.unit === 's' || type.unit === 'ms' ? 32 : 64)
    case 'timestamp':
      return new arrow.Timestamp(units.indexOf(type.unit), type.zone)
    case 'decimal':
      return new arrow.Decimal(type.scale, type.precision, 128)
    case 'list':
      return new arrow.List(fieldOf({ name: 'item', type: type.item }))
    case 'struct':
      return new arrow.Struct(type.fields.map(fieldOf))
    case 'map':
      return new arrow.Map_(
        new arrow.Field(
          'entries',
          new arrow.Struct([
            new arrow.Field('key', arrowType(type.key), false),
            fieldOf({ name: 'value', type: type.value }),
          ]),
          false,
        ) as arrow.Field<arrow.Struct<{ key: arrow.DataType; value: arrow.DataType }>>,
      )
  }
}

function intOf(bits: number, isUnsigned: boolean): arrow.DataType {
  const types = isUnsigned
    ? { 8: arrow.Uint8, 16: arrow.Uint16, 32: arrow.Uint32, 64: arrow.Uint64 }
    : { 8: arrow.Int8, 16: arrow.Int16, 32: arrow.Int32, 64: arrow.Int64 }
  return new types[bits as 8 | 16 | 32 | 64]()
}

export function fieldOf({ name, type }: Column): arrow.Field {
  return new arrow.Field(name, arrowType(type), true)
}

/** A schema of columns, with metadata. */
export function schemaOf(columns: readonly Column[], metadata: ReadonlyMap<string, string> = new Map()): arrow.Schema {
  return new arrow.Schema(columns.map(fieldOf), new Map(metadata))
}
