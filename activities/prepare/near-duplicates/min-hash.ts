import { wordsOf } from '../../../domain/words.ts'
import { mixed, wordHash } from '../word-hash.ts'

/** How signatures are cut into bands: two texts count as near duplicates when all rows of some band agree. */
export interface Banding {
  readonly bands: number
  readonly rows: number
}

const hashes = 128
const shingleWords = 5

/**
 * Bands for a similarity: with b bands of r rows two texts of similarity s meet with probability 1 − (1 − s^r)^b, which
 * rises steeply at (1/b)^(1/r). The most rows are taken for which that lies below the wanted similarity.
 */
export function bandingFor(similarity: number): Banding {
  let best: Banding = { bands: hashes, rows: 1 }
  for (let rows = 2; rows <= 32; rows++) {
    const bands = Math.floor(hashes / rows)
    if ((1 / bands) ** (1 / rows) <= similarity) best = { bands, rows }
  }
  return best
}

/** Two words per band, `[high, low]` of its hash, written to `target` from `at` on with `step` words between bands. */
export function writeBands(
  text: string,
  { bands, rows }: Banding,
  target: Uint32Array,
  at: number,
  step: number,
): void {
  const shingles = shinglesOf(text)
  if (shingles.length === 0) return
  const mins = minimaOf(shingles, bands * rows)
  for (let band = 0; band < bands; band++) {
    let high = mixed(band + 1, 0x9e3779b9)
    let low = mixed(band + 1, 0x7f4a7c15)
    for (let row = 0; row < rows; row++) {
      const min = mins[band * rows + row] ?? 0
      high = mixed(high, min)
      low = mixed(low, Math.imul(min, 0x27d4eb2f))
    }
    target[at + band * step] = high
    // Zero in both stands for text without words, which is like no other.
    target[at + band * step + 1] = low | 1
  }
}

/** Hashes of all runs of five words; of a shorter text, of all its words together. */
function shinglesOf(text: string): Uint32Array {
  const words = wordsOf(text).map(wordHash)
  if (words.length === 0) return new Uint32Array(0)
  const shingles = new Uint32Array(Math.max(1, words.length - shingleWords + 1))
  for (let n = 0; n < shingles.length; n++) {
    let hash = 0
    for (let word = n; word < Math.min(n + shingleWords, words.length); word++) hash = mixed(hash, words[word] ?? 0)
    shingles[n] = hash
  }
  return shingles
}

const multipliers = new Uint32Array(hashes).map((_, n) => mixed(n + 1, 0x2545f491) | 1)
const addends = new Uint32Array(hashes).map((_, n) => mixed(n + 1, 0x6c078965))

function minimaOf(shingles: Uint32Array, count: number): Uint32Array {
  const minima = new Uint32Array(count).fill(0xffff_ffff)
  for (const shingle of shingles) {
    for (let n = 0; n < count; n++) {
      const value = Math.imul(shingle ^ (addends[n] as number), multipliers[n] as number) >>> 0
      if (value < (minima[n] as number)) minima[n] = value
    }
  }
  return minima
}
