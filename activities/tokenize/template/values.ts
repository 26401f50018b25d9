/**
 * Values as Jinja templates see them, which were written for Python: whole numbers are numbers or bigints, floats are kept
 * apart from them (Python writes `1.0` where JavaScript writes `1`), dicts are maps in the order of their keys.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Undefined
  | Tuple
  | Namespace
  | Callable
  | Value[]
  | Map<Value, Value>

/** A floating-point number, `1.0` included. */
export class Float {
  constructor(readonly value: number) {}
}

/** What a name or key stands for that is not there: prints as nothing, has no attributes. */
export class Undefined {
  constructor(readonly name: string) {}
}

export class Tuple {
  constructor(readonly items: readonly Value[]) {}
}

/** What `namespace()` makes: the only thing whose attributes a template may set. */
export class Namespace {
  constructor(readonly attributes: Map<string, Value>) {}
}

export interface CallArguments {
  readonly positional: readonly Value[]
  readonly named: ReadonlyMap<string, Value>
}

export class Callable {
  constructor(
    readonly name: string,
    readonly call: (args: CallArguments) => Value,
  ) {}
}

/** A template can't be rendered for this conversation: what Python would raise, or what the template itself says. */
export class TemplateFailed extends Error {
  override readonly name = 'TemplateFailed'
}

/** JavaScript's plain data as template values: numbers without a fraction are whole. */
export function toValue(data: unknown): Value {
  if (data === undefined || data === null) return null
  if (typeof data === 'number') return Number.isInteger(data) ? data : new Float(data)
  if (typeof data === 'string' || typeof data === 'boolean' || typeof data === 'bigint') return data
  if (data instanceof Float || data instanceof Map) return data
  if (Array.isArray(data)) return data.map(toValue)
  if (typeof data !== 'object') throw new TemplateFailed(`A ${typeof data} is no data for a template.`)
  const entries = Object.entries(data).filter(([, value]) => value !== undefined)
  return new Map(entries.map(([key, value]) => [key, toValue(value)]))
}

export function isTrue(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === 0n || value === '') return false
  if (value instanceof Float) return value.value !== 0
  if (value instanceof Undefined) return false
  if (value instanceof Map) return value.size > 0
  const items = itemsOf(value)
  return items ? items.length > 0 : true
}

/** The items of a list or tuple. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value
  return value instanceof Tuple ? value.items : undefined
}

/** What a loop over a value goes through; characters are code points. Throws `TemplateFailed`. */
export function iterate(value: Value): readonly Value[] {
  const items = itemsOf(value)
  if (items) return items
  if (typeof value === 'string') return Array.from(value)
  if (value instanceof Map) return [...value.keys()]
  if (value instanceof Undefined) return []
  throw new TemplateFailed(`${typeName(value)} can't be looped over.`)
}

export function lengthOf(value: Value): number {
  if (value instanceof Map) return value.size
  if (typeof value === 'string') return codePointCount(value)
  if (value instanceof Undefined) return 0
  const items = itemsOf(value)
  if (!items) throw new TemplateFailed(`${typeName(value)} has no length.`)
  return items.length
}

function codePointCount(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0xd800 && code < 0xdc00 && at + 1 < text.length && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      count--
      at++
    }
  }
  return count
}

/** A number to calculate with; true counts as 1. */
export function numberOf(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (value instanceof Float) return value.value
  return typeof value === 'boolean' ? Number(value) : undefined
}

export function isEqual(a: Value, b: Value): boolean {
  if (a === b) return true
  const [first, second] = [numberOf(a), numberOf(b)]
  // Whole numbers are compared across number and bigint.
  if (first !== undefined && second !== undefined) return first <= second && first >= second
  if (a instanceof Undefined) return b instanceof Undefined
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isEqual(value, b.get(key) ?? null))
  }
  const isSameKind = Array.isArray(a) === Array.isArray(b)
  const [left, right] = [itemsOf(a), itemsOf(b)]
  if (!left || !right || !isSameKind) return false
  return left.length === right.length && left.every((item, n) => isEqual(item, right[n] ?? null))
}

/** Negative, 0 or positive. Throws `TemplateFailed` for what has no order. */
export function compare(a: Value, b: Value): number {
  const [first, second] = [numberOf(a), numberOf(b)]
  if (first !== undefined && second !== undefined) return first < second ? -1 : first > second ? 1 : 0
  if (typeof a === 'string' && typeof b === 'string') return compareCodePoints(a, b)
  const [left, right] = [itemsOf(a), itemsOf(b)]
  if (!left || !right) throw new TemplateFailed(`${typeName(a)} and ${typeName(b)} have no order.`)
  for (const [n, item] of left.entries()) {
    const other = right[n]
    if (other === undefined) return 1
    const order = compare(item, other)
    if (order !== 0) return order
  }
  return left.length - right.length
}

/** UTF-16 puts the characters beyond U+FFFF before U+E000; Python does not. */
function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0
  const [left, right] = [Array.from(a), Array.from(b)]
  for (const [n, char] of left.entries()) {
    const difference = (char.codePointAt(0) ?? 0) - (right[n]?.codePointAt(0) ?? -1)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

export function typeName(value: Value): string {
  if (value === null) return 'none'
  if (value instanceof Undefined) return `${value.name || 'a value'}, which is undefined,`
  if (value instanceof Map) return 'a dict'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Callable) return `the function ${value.name}`
  return value instanceof Float ? 'a float' : value instanceof Tuple ? 'a tuple' : `a ${typeof value}`
}
