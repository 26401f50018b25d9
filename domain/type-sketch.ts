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
      sketch.kinds |= Number.isInteger(value) ? seen.int : seen.float
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

function observeList(sketch: TypeSketch, values: readonly unknown[]): void {
  sketch.kinds |= seen.list
  sketch.item ??= newSketch()
  for (const value of values) observe(sketch.item, value)
}

function observeStruct(sketch: TypeSketch, value: Record<string, unknown>): void {
  sketch.kinds |= seen.struct
  sketch.fields ??= new Map()
  for (const name in value) {
    let field = sketch.fields.get(name)
    if (!field) {
      if (sketch.fields.size >= mostFields) {
        sketch.kinds |= seen.tooWide
        continue
      }
      field = newSketch()
      sketch.fields.set(name, field)
    }
    observe(field, value[name])
  }
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
