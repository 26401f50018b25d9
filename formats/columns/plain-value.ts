/**
 * A value of a binary format as JSON would have it: 64-bit integers as numbers where they fit (else left as they are, to be
 * refused where they would be carried on), dates as ISO text, lists and structs as plain arrays and objects.
 */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return isSafe(value) ? Number(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plainValue)
  if (value instanceof Date) return value.toISOString()
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plainValue)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValue(inner)]))
}

function isSafe(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const excerptChars = 240

/** The beginning of a row for people, whatever is in it. */
export function rowExcerpt(row: unknown): string {
  const text = JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? ''
  return text.slice(0, excerptChars)
}
