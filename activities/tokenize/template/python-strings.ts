/** What Python's `str` methods do where JavaScript's of the same name do something else. */

/** Characters that Python's `str.isspace` is true for: not U+FEFF, but the separators U+001C to U+001F and U+0085. */
const space = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const isSpaceChar = new RegExp(`[${space}]`)
const spaces = new RegExp(`[${space}]+`)

export type Side = 'both' | 'left' | 'right'

/** Takes white space, or any of the given characters, off the ends. */
export function strip(text: string, side: Side, chars?: string): string {
  const set = chars === undefined ? undefined : new Set(chars)
  const isStripped = (char: string) => (set ? set.has(char) : isSpaceChar.test(char))
  let start = 0
  let end = text.length
  if (side !== 'right') {
    while (start < end) {
      const char = String.fromCodePoint(text.codePointAt(start) ?? 0)
      if (!isStripped(char)) break
      start += char.length
    }
  }
  if (side !== 'left') {
    while (end > start) {
      const char = charBefore(text, end)
      if (!isStripped(char)) break
      end -= char.length
    }
  }
  return text.slice(start, end)
}

function charBefore(text: string, end: number): string {
  const isPair =
    end > 1 && (text.charCodeAt(end - 1) & 0xfc00) === 0xdc00 && (text.charCodeAt(end - 2) & 0xfc00) === 0xd800
  return text.slice(end - (isPair ? 2 : 1), end)
}

/** Without a separator: at runs of white space, and nothing empty at the ends. `limit` counts cuts, below 0 all. */
export function split(text: string, separator: string | undefined, limit: number): string[] {
  if (separator === undefined) return splitAtSpace(strip(text, 'left'), limit)
  const parts: string[] = []
  let from = 0
  for (let at = text.indexOf(separator); at >= 0 && parts.length !== limit; at = text.indexOf(separator, from)) {
    parts.push(text.slice(from, at))
    from = at + separator.length
  }
  return [...parts, text.slice(from)]
}

/** The same from the right. */
export function rsplit(text: string, separator: string | undefined, limit: number): string[] {
  if (limit < 0 || separator === undefined) return split(text, separator, limit)
  const parts: string[] = []
  let end = text.length
  while (parts.length < limit) {
    const at = text.lastIndexOf(separator, end - separator.length)
    if (at < 0 || end - separator.length < 0) break
    parts.unshift(text.slice(at + separator.length, end))
    end = at
  }
  return [text.slice(0, end), ...parts]
}

function splitAtSpace(text: string, limit: number): string[] {
  const parts: string[] = []
  let rest = text
  while (rest !== '' && parts.length !== limit) {
    const gap = spaces.exec(rest)
    if (!gap) break
    parts.push(rest.slice(0, gap.index))
    rest = rest.slice(gap.index + gap[0].length)
  }
  return rest === '' ? parts : [...parts, parts.length === limit ? rest : strip(rest, 'right')]
}

const lineEnd = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/

export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = []
  let rest = text
  for (let end = lineEnd.exec(rest); end; end = lineEnd.exec(rest)) {
    const next = end.index + end[0].length
    lines.push(rest.slice(0, keepEnds ? next : end.index))
    rest = rest.slice(next)
  }
  return rest === '' ? lines : [...lines, rest]
}

/** The first letter of every word large, all others small; a word is a run of letters. */
export function title(text: string): string {
  return text.replace(/\p{L}+/gu, (word) => capitalize(word))
}

export function capitalize(text: string): string {
  const [first = '', ...rest] = Array.from(text)
  return first.toUpperCase() + rest.join('').toLowerCase()
}

export function isSpace(text: string): boolean {
  return text !== '' && strip(text, 'both') === ''
}

/** Python's slice: `[start:stop:step]` over items, negative places counted from the end. */
export function slice<Item>(items: readonly Item[], start?: number, stop?: number, step = 1): Item[] {
  const length = items.length
  const place = (at: number | undefined, otherwise: number, low: number, high: number) =>
    at === undefined ? otherwise : Math.min(Math.max(at < 0 ? at + length : at, low), high)
  const taken: Item[] = []
  if (step > 0) {
    const end = place(stop, length, 0, length)
    for (let at = place(start, 0, 0, length); at < end; at += step) taken.push(items[at] as Item)
  } else {
    const end = place(stop, -1, -1, length - 1)
    for (let at = place(start, length - 1, -1, length - 1); at > end; at += step) taken.push(items[at] as Item)
  }
  return taken
}
