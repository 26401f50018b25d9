/** The split that new rows go into. */
export const trainSplit = 'train'

/** Names that files give to splits, as the Hugging Face hub reads them; the first that fits is taken. */
const splitWords: readonly { split: string; words: readonly string[] }[] = [
  { split: 'validation', words: ['validation', 'valid', 'dev', 'val'] },
  { split: 'test', words: ['test', 'testing', 'eval', 'evaluation'] },
]

/** The split of a file, by a word of its own name or else of a folder that it is in: `data/test-00000.parquet` → `test`. */
export function splitOfFile(key: string): string {
  for (const name of key.split('/').reverse()) {
    const words = name.toLowerCase().split(/[^a-z]+/)
    if (words.includes('train') || words.includes('training')) return trainSplit
    const named = splitWords.find((split) => split.words.some((word) => words.includes(word)))
    if (named) return named.split
  }
  return trainSplit
}
