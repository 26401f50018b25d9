/** Type of a column, or of what is in one: what JSON, Arrow and Parquet have in common. Every value may be null. */
export type ColumnType =
  | { kind: 'null' }
  | { kind: 'bool' }
  | { kind: 'int'; bits: 8 | 16 | 32 | 64; isUnsigned?: true }
  | { kind: 'float'; bits: 16 | 32 | 64 }
  | { kind: 'string'; isLarge?: true }
  /** Values of kinds that do not go together: a text of JSON where a column must have one type. */
  | { kind: 'json' }
  | { kind: 'binary' }
  /** Days since 1970. */
  | { kind: 'date' }
  | { kind: 'time'; unit: TimeUnit }
  | { kind: 'timestamp'; unit: TimeUnit; zone?: string }
  | { kind: 'decimal'; precision: number; scale: number }
  | { kind: 'list'; item: ColumnType }
  | { kind: 'struct'; fields: Column[] }
  | { kind: 'map'; key: ColumnType; value: ColumnType }

export type TimeUnit = 's' | 'ms' | 'us' | 'ns'

export interface Column {
  name: string
  type: ColumnType
  /** What the `datasets` library says of it beyond its type, such as the names of classes. Kept as it is. */
  feature?: Record<string, unknown>
}

/** The type that holds the values of both; `json` where only that does. */
export function unify(a: ColumnType, b: ColumnType): ColumnType {
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  if (a.kind === 'list' && b.kind === 'list') return { kind: 'list', item: unify(a.item, b.item) }
  if (a.kind === 'struct' && b.kind === 'struct') return { kind: 'struct', fields: unifyColumns(a.fields, b.fields) }
  if (a.kind === 'int' && b.kind === 'int') return widerInt(a, b)
  if (a.kind === 'float' && b.kind === 'float') return a.bits >= b.bits ? a : b
  if (a.kind === 'float' && b.kind === 'int') return a
  if (a.kind === 'int' && b.kind === 'float') return b
  if (a.kind === 'json' && b.kind === 'string') return a
  if (a.kind === 'string' && b.kind === 'json') return b
  return JSON.stringify(a) === JSON.stringify(b) ? a : { kind: 'json' }
}

type Int = Extract<ColumnType, { kind: 'int' }>

function widerInt(a: Int, b: Int): Int {
  if (a.isUnsigned === b.isUnsigned) return a.bits >= b.bits ? a : b
  return { kind: 'int', bits: 64 }
}

/** Columns of both, those of the first in front. */
export function unifyColumns(first: readonly Column[], second: readonly Column[]): Column[] {
  const others = new Map(second.map((column) => [column.name, column]))
  const shared = first.map((column) => {
    const other = others.get(column.name)
    others.delete(column.name)
    return other ? { ...other, ...column, type: unify(column.type, other.type) } : column
  })
  return [...shared, ...others.values()]
}

/** A type in short, for people: `list<struct<role: string, content: string>>`. */
export function typeName(type: ColumnType): string {
  switch (type.kind) {
    case 'int':
      return `${type.isUnsigned ? 'u' : ''}int${type.bits}`
    case 'float':
      return `float${type.bits}`
    case 'time':
      return `time[${type.unit}]`
    case 'timestamp':
      return `timestamp[${[type.unit, ...(type.zone ? [type.zone] : [])].join(', ')}]`
    case 'decimal':
      return `decimal(${type.precision}, ${type.scale})`
    case 'list':
      return `list<${typeName(type.item)}>`
    case 'struct':
      return `struct<${type.fields.map((field) => `${field.name}: ${typeName(field.type)}`).join(', ')}>`
    case 'map':
      return `map<${typeName(type.key)}, ${typeName(type.value)}>`
    default:
      return type.kind
  }
}

/** What a type becomes in JSON, which knows only texts, numbers, truth values, lists and objects. */
export function plainType(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'list':
      return { kind: 'list', item: plainType(type.item) }
    case 'struct':
      return { kind: 'struct', fields: type.fields.map(plainColumn) }
    case 'int':
      return { kind: 'int', bits: 64 }
    case 'float':
    case 'decimal':
      return { kind: 'float', bits: 64 }
    case 'time':
      return { kind: 'int', bits: 64 }
    case 'string':
    case 'binary':
    case 'date':
    case 'timestamp':
      return { kind: 'string' }
    case 'map':
      return { kind: 'json' }
    default:
      return type
  }
}

export function plainColumn({ type, ...rest }: Column): Column {
  return { ...rest, type: plainType(type) }
}

/** Whether there is a value of no one type in it. */
export function holdsJson(type: ColumnType): boolean {
  if (type.kind === 'list') return holdsJson(type.item)
  if (type.kind === 'struct') return type.fields.some((field) => holdsJson(field.type))
  return type.kind === 'json'
}
