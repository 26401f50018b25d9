// Scripts that are written without spaces: each of their letters counts as a word, or whole sentences would.
const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`
const word = new RegExp(String.raw`[${unspaced}]|[[\p{L}\p{M}\p{N}]--[${unspaced}]]+`, 'gv')

/** The words of a text in lower case, without punctuation: what n-grams are made of. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(word) ?? []
}
