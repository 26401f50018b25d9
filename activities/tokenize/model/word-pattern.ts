/**
 * A word pattern of the library's regular expressions (Oniguruma) as one of JavaScript. Undefined when it can't be
 * translated.
 */
export function wordPattern(source: string): RegExp | undefined {
  const translated = source
    .replace(/\(\?i:([^()]*)\)/g, (_, inner: string) => `(?:${inner.replace(/\p{L}/gu, eitherCase)})`)
    .replaceAll('\\s', '\\p{White_Space}')
    .replaceAll('\\S', '\\P{White_Space}')
  try {
    return new RegExp(translated, 'gu')
  } catch {
    return undefined
  }
}

/** The old long s and the sign for kelvin are the same letters as s and k where case does not count. */
const further: Readonly<Record<string, string>> = { s: 'ſ', k: '\u212a' }

function eitherCase(letter: string): string {
  const lower = letter.toLowerCase()
  return `[${lower}${lower.toUpperCase()}${further[lower] ?? ''}]`
}
