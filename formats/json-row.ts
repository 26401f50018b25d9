import { isObject, type Row } from './conversation/row.ts'
import { RowRejected, shown } from './row-rejected.ts'

/** Rows that are nested deeper are rejected: what walks them may recurse. */
export const maxDepth = 256

/**
 * Parses a row of JSON. Throws `RowRejected`, also for what `JSON.parse` takes without a word: an object that names a
 * key twice, of which it would keep the last value.
 */
export function parseJsonRow(text: string): Row {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new RowRejected('invalid_json', error instanceof Error ? error.message : undefined)
  }
  if (!isObject(value)) throw new RowRejected('not_an_object', shown(value))
  if (countColonsBehindQuotes(text) > countKeys(value, 0)) {
    const key = repeatedKey(text)
    if (key !== undefined) throw new RowRejected('duplicate_key', shown(key))
  }
  return value
}

/** How many keys the parsed value has, at all depths. */
function countKeys(value: object, depth: number): number {
  if (depth > maxDepth) throw new RowRejected('too_deep', `more than ${maxDepth} levels`)
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === 'object' && item !== null) keys += countKeys(item, depth + 1)
    }
    return keys
  }
  for (const key in value) {
    keys++
    const inner = (value as Record<string, unknown>)[key]
    if (typeof inner === 'object' && inner !== null) keys += countKeys(inner, depth + 1)
  }
  return keys
}

/**
 * How many keys valid JSON may have written: colons behind a quote. Each key has one, so where there are no more of them
 * than keys in the parsed value, none was written twice. A text that begins with a colon counts as well; then only
 * `repeatedKey` can tell. Colons are few, so this costs little beside the parsing.
 */
function countColonsBehindQuotes(text: string): number {
  let colons = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    let before = at - 1
    while (isWhiteSpace(text.charCodeAt(before))) before--
    if (text.charCodeAt(before) === quote && !isEscaped(text, before)) colons++
  }
  return colons
}

const colon = 58
const backslash = 92
const quote = 34

function closingQuote(text: string, open: number): number {
  let close = text.indexOf('"', open + 1)
  while (isEscaped(text, close)) close = text.indexOf('"', close + 1)
  return close
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++
  return slashes % 2 === 1
}

function afterWhiteSpace(text: string, from: number): number {
  let at = from
  while (isWhiteSpace(text.charCodeAt(at))) at++
  return at
}

function isWhiteSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

/** The first key that its object has already. */
function repeatedKey(text: string): string | undefined {
  const open: Set<string>[] = []
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '{' || char === '[') open.push(new Set())
    if (char === '}' || char === ']') open.pop()
    if (char !== '"') continue
    const close = closingQuote(text, at)
    if (text.charCodeAt(afterWhiteSpace(text, close + 1)) === colon) {
      const key = JSON.parse(text.slice(at, close + 1)) as string
      if (open.at(-1)?.has(key)) return key
      open.at(-1)?.add(key)
    }
    at = close
  }
  return undefined
}
