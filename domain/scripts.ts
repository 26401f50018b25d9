/** Scripts that a prompt's main one is looked for among: those that whole datasets are written in. */
export const knownScripts = [
  'Latin',
  'Han',
  'Cyrillic',
  'Arabic',
  'Devanagari',
  'Hangul',
  'Hiragana',
  'Katakana',
  'Greek',
  'Hebrew',
  'Thai',
  'Bengali',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Gujarati',
  'Gurmukhi',
  'Sinhala',
  'Georgian',
  'Armenian',
  'Ethiopic',
  'Khmer',
  'Lao',
  'Myanmar',
  'Tibetan',
  'Mongolian',
] as const

export type Script = (typeof knownScripts)[number]

const letters = /\p{L}/gu
const scriptLetters = knownScripts.map((script) => ({ script, letters: new RegExp(`\\p{Script=${script}}`, 'gu') }))

/** Enough letters to tell; long texts are looked at from their beginning. */
const sampleChars = 4000

/** The script that most letters are of; undefined for text without letters, or mainly of another script. */
export function mainScript(text: string): Script | undefined {
  const sample = text.slice(0, sampleChars)
  let left = sample.match(letters)?.length ?? 0
  let main: { script: Script; count: number } | undefined
  for (const { script, letters: ofScript } of scriptLetters) {
    if (left <= (main?.count ?? 0)) break
    const count = sample.match(ofScript)?.length ?? 0
    left -= count
    if (count > (main?.count ?? 0)) main = { script, count }
  }
  return main && main.count >= left ? main.script : undefined
}
