import { Callable, compare, Float, isEqual, itemsOf, Undefined, type Value } from './values.ts'

type Test = (value: Value, operand: Value | undefined) => boolean

const isWhole = (value: Value) => typeof value === 'number' || typeof value === 'bigint'
const isLooped = (value: Value) => typeof value === 'string' || value instanceof Map || itemsOf(value) !== undefined

/** Jinja's tests: `value is <name>`, and `selectattr(…, '<name>', operand)`. */
export const tests: Readonly<Record<string, Test>> = {
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  none: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  true: (value) => value === true,
  false: (value) => value === false,
  integer: (value) => isWhole(value),
  float: (value) => value instanceof Float,
  number: (value) => isWhole(value) || value instanceof Float || typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  mapping: (value) => value instanceof Map,
  sequence: (value) => isLooped(value) || value instanceof Undefined,
  iterable: (value) => isLooped(value) || value instanceof Undefined,
  callable: (value) => value instanceof Callable,
  odd: (value) => Math.abs(Number(value) % 2) === 1,
  even: (value) => Number(value) % 2 === 0,
  lower: (value) => typeof value === 'string' && value === value.toLowerCase() && value !== value.toUpperCase(),
  upper: (value) => typeof value === 'string' && value === value.toUpperCase() && value !== value.toLowerCase(),
  eq: (value, operand = null) => isEqual(value, operand),
  ne: (value, operand = null) => !isEqual(value, operand),
  lt: (value, operand = null) => compare(value, operand) < 0,
  le: (value, operand = null) => compare(value, operand) <= 0,
  gt: (value, operand = null) => compare(value, operand) > 0,
  ge: (value, operand = null) => compare(value, operand) >= 0,
  in: (value, operand = null) => contains(operand, value),
  sameas: (value, operand = null) => value === operand,
  divisibleby: (value, operand = 1) => Number(value) % Number(operand) === 0,
}

const otherNames: Readonly<Record<string, string>> = {
  '==': 'eq',
  equalto: 'eq',
  '!=': 'ne',
  '<': 'lt',
  lessthan: 'lt',
  '<=': 'le',
  '>': 'gt',
  greaterthan: 'gt',
  '>=': 'ge',
}

export function testNamed(name: string): Test | undefined {
  const known = otherNames[name] ?? name
  return Object.hasOwn(tests, known) ? tests[known] : undefined
}

/** Whether `item in whole` holds. */
export function contains(whole: Value, item: Value): boolean {
  if (typeof whole === 'string') return typeof item === 'string' && whole.includes(item)
  if (whole instanceof Map) return [...whole.keys()].some((key) => isEqual(key, item))
  return (itemsOf(whole) ?? []).some((other) => isEqual(other, item))
}
