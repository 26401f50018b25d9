/** A row of a source as its format gives it: column names and values. */
export type Row = Readonly<Record<string, unknown>>

/** The value of a column, or of a path with dots where no column has that very name. */
export function valueAt(row: Row, path: string): unknown {
  if (path in row || !path.includes('.')) return row[path]
  let value: unknown = row
  for (const key of path.split('.')) {
    if (!isObject(value)) return undefined
    value = value[key]
  }
  return value
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The first of several columns that holds something. */
export function firstOf(row: Row, columns: readonly string[]): unknown {
  for (const column of columns) {
    const value = valueAt(row, column)
    if (value !== undefined && value !== null && value !== '') return value
  }
  return undefined
}
