/**
 * Blocks of characters in which nothing was assigned or changed its kind after Unicode 8: what a regular expression or a
 * normalisation makes of these is the same in V8 as in the tokenizers library, whatever Unicode release each was built with.
 */
const blocks = [
  // Latin to Greek and Cyrillic, without the few late letters of U+0370 to U+03FF.
  '\\u0000-\\u052f',
  // General punctuation, currency up to the rouble, letter-like signs, arrows, mathematics, boxes, symbols.
  '\\u2000-\\u2064\\u20a0-\\u20bd\\u2100-\\u218a\\u2190-\\u23fa\\u2500-\\u27ff',
  // Chinese and Japanese, and their punctuation and wide forms.
  '\\u3000-\\u3029\\u3030-\\u303f\\u3041-\\u3096\\u3099-\\u30ff\\u4e00-\\u9fd5\\uff01-\\uff9f',
  // Korean.
  '\\uac00-\\ud7a3',
  // Hebrew and Arabic letters and digits.
  '\\u05d0-\\u05ea\\u0620-\\u0669',
  // Emoji of the first years; the variation selector and the joiner.
  '\\ufe0f\\u{1f300}-\\u{1f579}\\u{1f5fb}-\\u{1f64f}\\u{1f680}-\\u{1f6d0}\\u{1f1e6}-\\u{1f1ff}',
]

const unsettled = new RegExp(`[^${blocks.join('')}]`, 'u')

/** Whether a text has only characters that every Unicode release of the last years sees alike. */
export function isSettled(text: string): boolean {
  return !unsettled.test(text)
}
