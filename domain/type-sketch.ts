import type { Column, ColumnType } from './columns.ts'

/**
 * What kinds of JSON values were seen somewhere: grows row by row, so that the types of a dataset are known after one pass
 * over it. Can be sent from thread to thread as it is.
 */
export interface TypeSketch {
  kinds: number
  fields?: Map<string, TypeSketch>
  item?: TypeSketch
}

const seen = { null: 1, bool: 2, int: 4, float: 8, string: 16, list: 32, struct: 64, tooWide: 128 } as const

/** Objects with more keys than this over all rows are dictionaries rather than records: their keys are data. */
const mostFields = 300

export function newSketch(): TypeSketch {
  return { kinds: 0 }
}

/** Adds a value to what was seen. */
export function observe(sketch: TypeSketch, value: unknown): void {
  switch (typeof value) {
    case 'string':
      sketch.kinds |= seen.string
      return
    case 'number':
      sketch.kinds |= Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? seen.int : seen.float
      return
    case 'boolean':
      sketch.kinds |= seen.bool
      return
    case 'object':
      if (value === null) sketch.kinds |= seen.null
      else if (Array.isArray(value)) observeList(sketch, value)
      else observeStruct(sketch, value as Record<string, unknown>)
      return
    default:
      sketch.kinds |= seen.null
  }
}

/** A value that was looked through and not decoded. */
export interface SeenValue {
  readonly kind: 'object' | 'array' | 'string' | 'int' | 'float' | 'bool' | 'null'
  readonly names?: readonly string[]
  readonly items?: readonly SeenValue[]
}

/** As `observe`, for a value that was not decoded. */
export function observeSeen(sketch: TypeSketch, { kind, names = [], items = [] }: SeenValue): void {
  switch (kind) {
    case 'object':
      sketch.kinds |= seen.struct
      sketch.fields ??= new Map()
      for (let n = 0; n < names.length; n++) {
        const field = fieldOf(sketch, names[n] as string)
        if (field) observeSeen(field, items[n] as SeenValue)
      }
      return
    case 'array':
      sketch.kinds |= seen.list
      sketch.item ??= newSketch()
      for (const item of items) observeSeen(sketch.item, item)
      return
    default:
      sketch.kinds |= seen[kind]
  }
}

function observeList(sketch: TypeSketch, values: readonly unknown[]): void {
  sketch.kinds |= seen.list
  sketch.item ??= newSketch()
  for (const value of values) observe(sketch.item, value)
}

function observeStruct(sketch: TypeSketch, value: Record<string, unknown>): void {
  sketch.kinds |= seen.struct
  sketch.fields ??= new Map()
  for (const name in value) {
    const field = fieldOf(sketch, name)
    if (field) observe(field, value[name])
  }
}

/** The sketch of a field, unless there are too many fields for another one. */
function fieldOf(sketch: TypeSketch, name: string): TypeSketch | undefined {
  const fields = sketch.fields as Map<string, TypeSketch>
  let field = fields.get(name)
  if (field) return field
  if (fields.size >= mostFields) {
    sketch.kinds |= seen.tooWide
    return undefined
  }
  field = newSketch()
  fields.set(name, field)
  return field
}

/** Adds what another sketch has seen. */
export function mergeSketch(into: TypeSketch, from: TypeSketch): void {
  into.kinds |= from.kinds
  if (from.item) {
    into.item ??= newSketch()
    mergeSketch(into.item, from.item)
  }
  for (const [name, field] of from.fields ?? []) {
    into.fields ??= new Map()
    const known = into.fields.get(name) ?? newSketch()
    into.fields.set(name, known)
    mergeSketch(known, field)
  }
  if ((into.fields?.size ?? 0) > mostFields) into.kinds |= seen.tooWide
}

/** The columns of rows that were observed. */
export function columnsOf(sketch: TypeSketch): Column[] {
  return [...(sketch.fields ?? [])].map(([name, field]) => ({ name, type: typeOf(field) }))
}

function typeOf(sketch: TypeSketch): ColumnType {
  const kinds = sketch.kinds & ~seen.null
  switch (kinds) {
    case 0:
      return { kind: 'null' }
    case seen.bool:
      return { kind: 'bool' }
    case seen.int:
      return { kind: 'int', bits: 64 }
    case seen.float:
    case seen.float | seen.int:
      return { kind: 'float', bits: 64 }
    case seen.string:
      return { kind: 'string' }
    case seen.list:
      return { kind: 'list', item: sketch.item ? typeOf(sketch.item) : { kind: 'null' } }
    case seen.struct:
      // An object that never has a key can't be told from a dictionary, and Parquet has no type for it.
      return sketch.fields?.size ? { kind: 'struct', fields: columnsOf(sketch) } : { kind: 'json' }
    default:
      return { kind: 'json' }
  }
}
