import { Arguments } from './arguments.ts'
import { capitalize, isSpace, rsplit, split, splitLines, strip, title } from './python-strings.ts'
import { textOf } from './text-of.ts'
import {
  type CallArguments,
  Callable,
  isEqual,
  itemsOf,
  iterate,
  TemplateFailed,
  Tuple,
  Undefined,
  type Value,
} from './values.ts'

/** The method of a string, list or dict, bound to it. Methods that would change it are not there, as in transformers' sandbox. */
export function methodOf(value: Value, name: string): Callable | undefined {
  if (typeof value === 'string') return bound(stringMethods, value, name)
  if (value instanceof Map) return bound(dictMethods, value, name)
  return itemsOf(value) ? bound(listMethods, value, name) : undefined
}

type Methods<Self> = Readonly<Record<string, (self: Self, args: Arguments) => Value>>

function bound<Self extends Value>(methods: Methods<Self>, self: Self, name: string): Callable | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  return method && new Callable(name, (args: CallArguments) => method(self, new Arguments(name, args)))
}

const stringMethods: Methods<string> = {
  strip: (text, args) => strip(text, 'both', args.text(0, 'chars')),
  lstrip: (text, args) => strip(text, 'left', args.text(0, 'chars')),
  rstrip: (text, args) => strip(text, 'right', args.text(0, 'chars')),
  split: (text, args) => split(text, separatorOf(args), args.whole(1, 'maxsplit') ?? -1),
  rsplit: (text, args) => rsplit(text, separatorOf(args), args.whole(1, 'maxsplit') ?? -1),
  splitlines: (text, args) => splitLines(text, args.at(0, 'keepends') === true),
  partition: (text, args) => {
    const separator = separatorOf(args) ?? ''
    const at = text.indexOf(separator)
    return new Tuple(at < 0 ? [text, '', ''] : [text.slice(0, at), separator, text.slice(at + separator.length)])
  },
  rpartition: (text, args) => {
    const separator = separatorOf(args) ?? ''
    const at = text.lastIndexOf(separator)
    return new Tuple(at < 0 ? ['', '', text] : [text.slice(0, at), separator, text.slice(at + separator.length)])
  },
  startswith: (text, args) => affixes(args, 'prefix').some((prefix) => text.startsWith(prefix)),
  endswith: (text, args) => affixes(args, 'suffix').some((suffix) => text.endsWith(suffix)),
  removeprefix: (text, args) => {
    const prefix = args.text(0, 'prefix') ?? ''
    return text.startsWith(prefix) ? text.slice(prefix.length) : text
  },
  removesuffix: (text, args) => {
    const suffix = args.text(0, 'suffix') ?? ''
    return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text
  },
  replace: (text, args) =>
    replace(text, args.text(0, 'old') ?? '', args.text(1, 'new') ?? '', args.whole(2, 'count') ?? -1),
  find: (text, args) => codePointIndex(text, text.indexOf(args.text(0, 'sub') ?? '')),
  rfind: (text, args) => codePointIndex(text, text.lastIndexOf(args.text(0, 'sub') ?? '')),
  count: (text, args) => text.split(args.text(0, 'sub') ?? '').length - 1,
  join: (text, args) =>
    iterate(args.at(0, 'iterable') ?? [])
      .map(textOf)
      .join(text),
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => title(text),
  capitalize: (text) => capitalize(text),
  isspace: (text) => isSpace(text),
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
  zfill: (text, args) => text.padStart(args.whole(0, 'width') ?? 0, '0'),
}

function separatorOf(args: Arguments): string | undefined {
  const separator = args.text(0, 'sep')
  if (separator === '') throw new TemplateFailed(`${args.callee} got an empty separator.`)
  return separator
}

/** One text, or a tuple of some. */
function affixes(args: Arguments, name: string): string[] {
  const value = args.at(0, name)
  const all = value instanceof Tuple ? value.items : [value]
  return all.map((affix) => {
    if (typeof affix !== 'string') throw args.unfit(name, affix ?? new Undefined(name))
    return affix
  })
}

function replace(text: string, old: string, by: string, count: number): string {
  if (count < 0) return text.split(old).join(by)
  const parts = old === '' ? Array.from(text) : split(text, old, count)
  return parts.join(by)
}

function codePointIndex(text: string, at: number): number {
  return at < 0 ? -1 : Array.from(text.slice(0, at)).length
}

const dictMethods: Methods<Map<Value, Value>> = {
  items: (dict) => [...dict].map((entry) => new Tuple(entry)),
  keys: (dict) => [...dict.keys()],
  values: (dict) => [...dict.values()],
  get: (dict, args) => {
    const key = args.at(0, 'key') ?? null
    return dict.has(key) ? (dict.get(key) ?? null) : (args.at(1, 'default') ?? null)
  },
  copy: (dict) => new Map(dict),
}

const listMethods: Methods<Value> = {
  index: (list, args) => {
    const at = (itemsOf(list) ?? []).findIndex((item) => isEqual(item, args.at(0, 'value') ?? null))
    if (at < 0) throw new TemplateFailed('index: the value is not in the list.')
    return at
  },
  count: (list, args) => (itemsOf(list) ?? []).filter((item) => isEqual(item, args.at(0, 'value') ?? null)).length,
  copy: (list) => [...(itemsOf(list) ?? [])],
}
