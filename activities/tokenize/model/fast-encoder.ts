import { BytePairs } from './byte-pairs.ts'
import { isSettled } from './settled-text.ts'
import { isBpe, type PreTokenizerJson, type TokenizerJson } from './tokenizer-json.ts'
import { wordPattern } from './word-pattern.ts'

/** Longer words are left to the library, whose merging does not grow with the square of their length. */
const longestWord = 384
/** Words that are remembered with their ids; then all are forgotten. */
const mostWords = 400_000

/**
 * Encodes text that byte-level vocabularies (Qwen, Llama 3, GPT) are made for, several times as fast as the library: words
 * repeat, and one that was seen before costs a look-up. It knows what it can't do, and leaves that to the library.
 */
export class FastEncoder {
  readonly #words = new Map<string, Int32Array>()
  readonly #bytes = Buffer.alloc(4 * longestWord)
  #ids = new Int32Array(64 * 1024)

  private constructor(
    private readonly pattern: RegExp,
    private readonly pairs: BytePairs,
    private readonly composes: boolean,
  ) {}

  /** Undefined for a tokenizer of another kind. */
  static of({ model, normalizer, pre_tokenizer }: TokenizerJson): FastEncoder | undefined {
    const isKnownNormalizer = !normalizer || normalizer.type === 'NFC'
    if (!isBpe(model) || !isKnownNormalizer) return undefined
    const pattern = patternOf(pre_tokenizer)
    const pairs = pattern && BytePairs.of(model)
    return pattern && pairs && new FastEncoder(pattern, pairs, Boolean(normalizer))
  }

  /** Undefined for text that has to go to the library. */
  encode(text: string): Int32Array | undefined {
    if (!isSettled(text)) return undefined
    const normal = this.composes ? text.normalize('NFC') : text
    const words = normal.match(this.pattern) ?? []
    let covered = 0
    let count = 0
    for (const word of words) {
      covered += word.length
      const ids = this.#words.get(word) ?? this.#learn(word)
      if (!ids) return undefined
      if (count + ids.length > this.#ids.length) this.#grow()
      for (let n = 0; n < ids.length; n++) this.#ids[count++] = ids[n] as number
    }
    return covered === normal.length ? this.#ids.slice(0, count) : undefined
  }

  #learn(word: string): Int32Array | undefined {
    if (word.length > longestWord) return undefined
    const bytes = this.#bytes.subarray(0, this.#bytes.write(word, 'utf8'))
    const ids = Int32Array.from(this.pairs.merge(bytes))
    if (this.#words.size >= mostWords) this.#words.clear()
    // A copy: the word itself would keep all of the text that it was cut from in memory.
    this.#words.set(bytes.toString('utf8'), ids)
    return ids
  }

  #grow(): void {
    const larger = new Int32Array(this.#ids.length * 2)
    larger.set(this.#ids)
    this.#ids = larger
  }
}

/** The pattern that words are found by: one split into words, which are then written as bytes. */
function patternOf(json: PreTokenizerJson | null | undefined): RegExp | undefined {
  const [split, bytes, ...rest] = json?.pretokenizers ?? []
  const isSplit = split?.type === 'Split' && split.behavior === 'Isolated' && !split.invert
  const isBytes = bytes?.type === 'ByteLevel' && !bytes.add_prefix_space && bytes.use_regex === false
  if (json?.type !== 'Sequence' || rest.length > 0 || !isSplit || !isBytes) return undefined
  return split.pattern?.Regex === undefined ? undefined : wordPattern(split.pattern.Regex)
}
