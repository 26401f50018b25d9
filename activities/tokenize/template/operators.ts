import { formatPercent } from './filters.ts'
import { contains } from './tests.ts'
import { textOf } from './text-of.ts'
import { compare, Float, isEqual, itemsOf, numberOf, TemplateFailed, Tuple, typeName, type Value } from './values.ts'

/** Applies a binary operator other than `and` and `or`, as Python does. Throws `TemplateFailed`. */
export function operate(operator: string, left: Value, right: Value): Value {
  switch (operator) {
    case '==':
      return isEqual(left, right)
    case '!=':
      return !isEqual(left, right)
    case '<':
      return compare(left, right) < 0
    case '<=':
      return compare(left, right) <= 0
    case '>':
      return compare(left, right) > 0
    case '>=':
      return compare(left, right) >= 0
    case 'in':
      return contains(right, left)
    case 'not in':
      return !contains(right, left)
    case '~':
      return textOf(left) + textOf(right)
    case '+':
      return joined(left, right) ?? calculate('+', left, right)
    case '*':
      return repeated(left, right) ?? repeated(right, left) ?? calculate('*', left, right)
    case '%':
      if (typeof left === 'string') return formatPercent(left, right instanceof Tuple ? right.items : [right])
      return calculate('%', left, right)
    default:
      return calculate(operator, left, right)
  }
}

function joined(left: Value, right: Value): Value | undefined {
  if (typeof left === 'string' && typeof right === 'string') return left + right
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right]
  if (left instanceof Tuple && right instanceof Tuple) return new Tuple([...left.items, ...right.items])
  return undefined
}

function repeated(value: Value, times: Value): Value | undefined {
  if (typeof times !== 'number') return undefined
  if (typeof value === 'string') return value.repeat(Math.max(0, times))
  const items = itemsOf(value)
  return items && Array.from({ length: Math.max(0, times) }, () => items).flat()
}

const calculations: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '//': (a, b) => Math.floor(a / b),
  // Python's remainder has the sign of the divisor.
  '%': (a, b) => a - b * Math.floor(a / b),
  '**': (a, b) => a ** b,
}

function calculate(operator: string, left: Value, right: Value): Value {
  const [a, b] = [numberOf(left), numberOf(right)]
  const calculation = calculations[operator]
  if (a === undefined || b === undefined || !calculation) {
    throw new TemplateFailed(`${typeName(left)} ${operator} ${typeName(right)} means nothing.`)
  }
  if (['/', '//', '%'].includes(operator) && Number(b) === 0) throw new TemplateFailed('A division by 0.')
  const result = calculation(Number(a), Number(b))
  const isFloat = operator === '/' || left instanceof Float || right instanceof Float
  if (!isFloat && !Number.isSafeInteger(result)) throw new TemplateFailed('A number beyond 2^53 came out.')
  return isFloat ? new Float(result) : result
}
