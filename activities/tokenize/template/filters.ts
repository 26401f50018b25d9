import { attributeAtPath } from './access.ts'
import type { Arguments } from './arguments.ts'
import { jsonText } from './json.ts'
import { capitalize, splitLines, strip, title } from './python-strings.ts'
import { testNamed } from './tests.ts'
import { floatText, textOf } from './text-of.ts'
import {
  compare,
  Float,
  isEqual,
  isTrue,
  itemsOf,
  iterate,
  lengthOf,
  numberOf,
  TemplateFailed,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

export type Filter = (value: Value, args: Arguments) => Value

/** Jinja's filters, and `tojson` as transformers replaces it. Filters that take other filters by name are in the evaluator. */
export const filters: Readonly<Record<string, Filter>> = {
  trim: (value, args) => strip(textOf(value), 'both', args.text(0, 'chars')),
  upper: (value) => textOf(value).toUpperCase(),
  lower: (value) => textOf(value).toLowerCase(),
  title: (value) => title(textOf(value)),
  capitalize: (value) => capitalize(textOf(value)),
  string: (value) => textOf(value),
  safe: (value) => value,
  escape: (value) => escapeHtml(textOf(value)),
  e: (value) => escapeHtml(textOf(value)),
  length: (value) => lengthOf(value),
  count: (value) => lengthOf(value),
  default: defaultTo,
  d: defaultTo,
  replace: (value, args) => {
    const [old, by] = [args.text(0, 'old') ?? '', args.text(1, 'new') ?? '']
    const count = args.whole(2, 'count')
    const parts = textOf(value).split(old)
    if (count === undefined) return parts.join(by)
    return [parts.slice(0, count + 1).join(by), ...parts.slice(count + 1)].join(old)
  },
  join: (value, args) => {
    const attribute = args.at(1, 'attribute')
    const items = iterate(value).map((item) => (attribute === undefined ? item : attributeAtPath(item, attribute)))
    return items.map(textOf).join(args.text(0, 'd') ?? '')
  },
  first: (value) => iterate(value)[0] ?? new Undefined('the first item'),
  last: (value) => iterate(value).at(-1) ?? new Undefined('the last item'),
  list: (value) => [...iterate(value)],
  reverse: (value) =>
    typeof value === 'string' ? Array.from(value).reverse().join('') : [...iterate(value)].reverse(),
  items: (value) => {
    if (value instanceof Undefined) return []
    if (!(value instanceof Map)) throw new TemplateFailed(`${typeName(value)} has no items.`)
    return [...value].map((entry) => new Tuple(entry))
  },
  dictsort: (value, args) => {
    if (!(value instanceof Map)) throw new TemplateFailed(`${typeName(value)} is no dict to sort.`)
    const place = args.text(1, 'by') === 'value' ? 1 : 0
    const isCaseSensitive = isTrue(args.at(0, 'case_sensitive') ?? false)
    const sorted = sortedBy([...value], (entry) => caseless(entry[place] ?? null, isCaseSensitive))
    if (isTrue(args.at(2, 'reverse') ?? false)) sorted.reverse()
    return sorted.map((entry) => new Tuple(entry))
  },
  sort: (value, args) => {
    const attribute = args.at(2, 'attribute')
    const isCaseSensitive = isTrue(args.at(1, 'case_sensitive') ?? false)
    const keyOf = (item: Value) =>
      caseless(attribute === undefined || attribute === null ? item : attributeAtPath(item, attribute), isCaseSensitive)
    const isReverse = isTrue(args.at(0, 'reverse') ?? false)
    return isReverse ? sortedBy([...iterate(value)].reverse(), keyOf).reverse() : sortedBy(iterate(value), keyOf)
  },
  unique: (value, args) => {
    const isCaseSensitive = isTrue(args.at(0, 'case_sensitive') ?? false)
    const kept: Value[] = []
    for (const item of iterate(value)) {
      const key = caseless(item, isCaseSensitive)
      if (!kept.some((other) => isEqual(caseless(other, isCaseSensitive), key))) kept.push(item)
    }
    return kept
  },
  min: (value) => sortedBy(iterate(value), (item) => caseless(item, false))[0] ?? new Undefined('the smallest item'),
  max: (value) => sortedBy(iterate(value), (item) => caseless(item, false)).at(-1) ?? new Undefined('the largest item'),
  sum: (value, args) => {
    const attribute = args.at(0, 'attribute')
    const items = iterate(value).map((item) => (attribute ? attributeAtPath(item, attribute) : item))
    const total = items.reduce<number>((sum, item) => sum + Number(numberOf(item) ?? 0), 0)
    return items.some((item) => item instanceof Float) ? new Float(total) : total
  },
  abs: (value) => {
    const number = Math.abs(Number(numberOf(value) ?? 0))
    return value instanceof Float ? new Float(number) : number
  },
  round: (value, args) => {
    const factor = 10 ** (args.whole(0, 'precision') ?? 0)
    return new Float(Math.round(Number(numberOf(value) ?? 0) * factor) / factor)
  },
  int: (value, args) => {
    const number = typeof value === 'string' ? Number.parseInt(value, 10) : Number(numberOf(value) ?? Number.NaN)
    return Number.isNaN(number) ? (args.whole(0, 'default') ?? 0) : Math.trunc(number)
  },
  float: (value) => {
    const number = typeof value === 'string' ? Number.parseFloat(value) : Number(numberOf(value) ?? 0)
    return new Float(Number.isNaN(number) ? 0 : number)
  },
  indent: (value, args) => {
    const width = args.at(0, 'width') ?? 4
    const by = typeof width === 'string' ? width : ' '.repeat(Number(width))
    const isBlankToo = isTrue(args.at(2, 'blank') ?? false)
    // The newline makes Python keep an empty last line.
    const lines = splitLines(`${textOf(value)}\n`)
    const indented = lines.map((line, n) => (n > 0 && (isBlankToo || line !== '') ? by + line : line)).join('\n')
    return isTrue(args.at(1, 'first') ?? false) ? by + indented : indented
  },
  format: (value, args) => formatPercent(textOf(value), args.args.positional),
  tojson: (value, args) => {
    const indent = args.at(1, 'indent') ?? null
    const separators = itemsOf(args.at(2, 'separators') ?? null)
    return jsonText(value, {
      asciiOnly: isTrue(args.at(0, 'ensure_ascii') ?? false),
      indent: typeof indent === 'string' || typeof indent === 'number' ? indent : null,
      ...(separators && { separators: [textOf(separators[0] ?? ', '), textOf(separators[1] ?? ': ')] as const }),
      sortKeys: isTrue(args.at(3, 'sort_keys') ?? false),
    })
  },
}

function defaultTo(value: Value, args: Arguments): Value {
  const isMissing = value instanceof Undefined || (isTrue(args.at(1, 'boolean') ?? false) && !isTrue(value))
  return isMissing ? (args.at(0, 'default_value') ?? '') : value
}

function sortedBy<Item>(items: readonly Item[], keyOf: (item: Item) => Value): Item[] {
  return [...items].sort((a, b) => compare(keyOf(a), keyOf(b)))
}

function caseless(value: Value, isCaseSensitive: boolean): Value {
  return typeof value === 'string' && !isCaseSensitive ? value.toLowerCase() : value
}

function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&#34;',
    "'": '&#39;',
  }
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? char)
}

/** Python's `%` on a text, as far as `%s`, `%d`, `%f` and `%%` go. */
export function formatPercent(text: string, values: readonly Value[]): string {
  let next = 0
  return text.replace(/%(?:\.(\d+))?([sdf%])/g, (_, digits: string | undefined, kind: string) => {
    if (kind === '%') return '%'
    const value = values[next++]
    if (value === undefined) throw new TemplateFailed('There are fewer values than places in a format.')
    if (kind === 's') return textOf(value)
    const number = Number(numberOf(value) ?? Number.NaN)
    if (kind === 'd') return String(Math.trunc(number))
    return Number.isFinite(number) ? number.toFixed(Number(digits ?? 6)) : floatText(number)
  })
}

/** `select`, `reject`, `selectattr` and `rejectattr`. */
export function picked(value: Value, args: Arguments, by: 'item' | 'attribute', isKept: boolean): Value[] {
  const [attribute, ...rest] = by === 'attribute' ? args.args.positional : [null, ...args.args.positional]
  const [name, operand] = rest
  const test = name === undefined ? isTrue : testOf(name)
  return iterate(value).filter((item) => {
    const tested = by === 'attribute' ? attributeAtPath(item, attribute ?? null) : item
    return test(tested, operand) === isKept
  })
}

function testOf(name: Value): (value: Value, operand: Value | undefined) => boolean {
  const test = typeof name === 'string' ? testNamed(name) : undefined
  if (!test) throw new TemplateFailed(`There is no test ${textOf(name)}.`)
  return test
}
