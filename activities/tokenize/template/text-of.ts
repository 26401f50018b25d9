import { Callable, Float, itemsOf, Namespace, Tuple, Undefined, type Value } from './values.ts'

/** A value as `{{ … }}` prints it: Python's `str`. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value
  return value instanceof Undefined ? '' : reprOf(value)
}

/** Python's `repr`: how values look inside of printed lists and dicts. */
export function reprOf(value: Value): string {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value).toString()
  if (typeof value === 'string') return quoted(value)
  if (value instanceof Float) return floatText(value.value)
  if (value instanceof Undefined) return 'Undefined'
  if (value instanceof Map)
    return `{${[...value].map(([key, inner]) => `${reprOf(key)}: ${reprOf(inner)}`).join(', ')}}`
  if (value instanceof Callable) return `<function ${value.name}>`
  if (value instanceof Namespace) return `<Namespace ${reprOf(new Map(value.attributes))}>`
  const items = (itemsOf(value) ?? []).map(reprOf)
  if (value instanceof Tuple) return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`
  return `[${items.join(', ')}]`
}

/** Python's `repr` of a float: the shortest digits, with an exponent below 1e-4 and from 1e16 on. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  const [mantissa = '', power = '0'] = value.toExponential().split('e')
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 16) {
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  const plain = exponent < 0 ? plainFraction(mantissa, exponent) : value.toString()
  return plain.includes('.') ? plain : `${plain}.0`
}

function plainFraction(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  return `${sign}0.${'0'.repeat(-exponent - 1)}${mantissa.replace(/[-.]/g, '')}`
}

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(/[\\\n\r\t'"]|[^\x20-\x7e]/gu, (char) => {
    if (char === quote) return `\\${char}`
    return named[char] ?? (isPrintable(char) ? char : hexEscape(char.codePointAt(0) ?? 0))
  })
  return `${quote}${escaped}${quote}`
}

function isPrintable(char: string): boolean {
  return char === "'" || char === '"' || !/[\p{C}\p{Z}]/u.test(char)
}

function hexEscape(code: number): string {
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`
}
