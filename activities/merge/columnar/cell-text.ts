import { type Data, makeVector } from 'apache-arrow'
import type { ColumnType, TimeUnit } from '../../../domain/columns.ts'

/** Gives a cell as JSON. */
export type CellText = (row: number) => string

/** How values are written that JSON has no type for. */
export interface CellStyle {
  /**
   * `exact`: so that they can be made columns again without loss (see `column-builder.ts`): times as counts of their unit,
   * decimals as unscaled digits, numbers that are none as texts. `plain`: as people write them in JSON.
   */
  readonly values: 'exact' | 'plain'
}

/** Makes the reader of a column of a record batch. */
export function cellText(data: Data, type: ColumnType, style: CellStyle): CellText {
  const text = valueText(data, type, style)
  if (data.nullCount === 0) return text
  return (row) => (data.getValid(row) ? text(row) : 'null')
}

function valueText(data: Data, type: ColumnType, style: CellStyle): CellText {
  const isPlain = style.values === 'plain'
  switch (type.kind) {
    case 'null':
      return () => 'null'
    case 'list':
      return listText(data, type.item, style)
    case 'struct':
      return structText(data, type.fields, style)
    case 'map':
      return mapText(data, type, style)
    case 'date':
      return rawText(data, isPlain ? (value) => `"${isoDate(Number(value))}"` : String)
    case 'time':
      return rawText(data, String)
    case 'timestamp':
      return rawText(data, isPlain ? (value) => `"${isoTime(BigInt(value), type.unit)}"` : exactInt)
    case 'decimal': {
      const words = data.values as Uint32Array
      const digits = (row: number) => decimalDigits(words.subarray(row * 4, row * 4 + 4))
      return isPlain ? (row) => scaled(digits(row), type.scale) : (row) => `"${digits(row)}"`
    }
    case 'binary': {
      const get = getter(data)
      return (row) => `"${Buffer.from(get(row) as Uint8Array).toString('base64')}"`
    }
    case 'float': {
      const get = getter(data)
      return (row) => floatText(get(row) as number, isPlain)
    }
    case 'int': {
      const get = getter(data)
      return isPlain ? (row) => String(get(row)) : (row) => exactInt(get(row) as number | bigint)
    }
    default: {
      const get = getter(data)
      return (row) => JSON.stringify(get(row))
    }
  }
}

function getter(data: Data): (row: number) => unknown {
  const vector = makeVector(data)
  return (row) => vector.get(row)
}

/** The stored integer itself: the library would round times to milliseconds. */
function rawText(data: Data, write: (value: number | bigint) => string): CellText {
  const values = data.values as ArrayLike<number | bigint>
  return (row) => write(values[row] ?? 0)
}

function exactInt(value: number | bigint): string {
  return Number.isSafeInteger(Number(value)) ? String(value) : `"${value}"`
}

function floatText(value: number, isPlain: boolean): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0.0' : String(value)
  return isPlain ? 'null' : `"${value}"`
}

function listText(data: Data, item: ColumnType, style: CellStyle): CellText {
  const [child] = data.children
  if (!child) return () => '[]'
  const text = cellText(child, item, style)
  const bounds = boundsOf(data)
  return (row) => {
    const [start, end] = bounds(row)
    const items: string[] = []
    for (let n = start; n < end; n++) items.push(text(n))
    return `[${items.join(',')}]`
  }
}

/** Where the items of a list lie in its child. */
function boundsOf(data: Data): (row: number) => [start: number, end: number] {
  const offsets = data.valueOffsets as ArrayLike<number | bigint> | undefined
  const listSize = (data.type as { listSize?: number }).listSize
  if (listSize !== undefined) return (row) => [row * listSize, (row + 1) * listSize]
  return (row) => [Number(offsets?.[row] ?? 0), Number(offsets?.[row + 1] ?? 0)]
}

function structText(data: Data, fields: readonly { name: string; type: ColumnType }[], style: CellStyle): CellText {
  const texts = fields.map(({ name, type }, n) => {
    const child = data.children[n]
    return { key: JSON.stringify(name), text: child ? cellText(child, type, style) : () => 'null' }
  })
  return (row) => `{${texts.map(({ key, text }) => `${key}:${text(row)}`).join(',')}}`
}

/** Pairs, since keys may be of any type and come twice; where they are texts, people write an object. */
function mapText(data: Data, { key, value }: Extract<ColumnType, { kind: 'map' }>, style: CellStyle): CellText {
  const entries = data.children[0]
  const [keys, values] = entries?.children ?? []
  if (!keys || !values) return () => '[]'
  const keyText = cellText(keys, key, style)
  const textOfValue = cellText(values, value, style)
  const bounds = boundsOf(data)
  const isObject = style.values === 'plain' && key.kind === 'string'
  return (row) => {
    const [start, end] = bounds(row)
    const pairs: string[] = []
    for (let n = start; n < end; n++) {
      pairs.push(isObject ? `${keyText(n)}:${textOfValue(n)}` : `[${keyText(n)},${textOfValue(n)}]`)
    }
    return isObject ? `{${pairs.join(',')}}` : `[${pairs.join(',')}]`
  }
}

const dayMs = 86_400_000

function isoDate(days: number): string {
  return new Date(days * dayMs).toISOString().slice(0, 10)
}

const perSecond: Readonly<Record<TimeUnit, bigint>> = { s: 1n, ms: 1_000n, us: 1_000_000n, ns: 1_000_000_000n }
const digitsOf: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 }

function isoTime(value: bigint, unit: TimeUnit): string {
  const per = perSecond[unit]
  const fraction = ((value % per) + per) % per
  const seconds = Number((value - fraction) / per)
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19)
  return `${whole}${unit === 's' ? '' : `.${String(fraction).padStart(digitsOf[unit], '0')}`}Z`
}

/** 128 bits in words of 32, the lowest first, in two's complement. */
function decimalDigits(words: Uint32Array): string {
  let value = 0n
  for (let n = 3; n >= 0; n--) value = (value << 32n) | BigInt(words[n] ?? 0)
  return String(BigInt.asIntN(128, value))
}

function scaled(digits: string, scale: number): string {
  if (scale <= 0) return digits + '0'.repeat(-scale)
  const sign = digits.startsWith('-') ? '-' : ''
  const all = digits.slice(sign.length).padStart(scale + 1, '0')
  return `${sign}${all.slice(0, -scale)}.${all.slice(-scale)}`
}
