/**
 * Sketches of texts by which their similarity can be told without the texts: one permutation hashing (Li, Owen and Zhang,
 * 2012) with optimal densification (Shrivastava, 2017). Similarity is Jaccard's: of the stretches of eight characters that
 * the two texts have, the share that both have.
 */

/** Values of a sketch. The standard error of a similarity of 0.9 is 0.027. */
export const sketchLength = 128

const stretch = 8
const emptyBin = 0xffff_ffff

/** The sketch of a text. Case and white space do not count. A text shorter than a stretch is one itself. */
export function sketchOf(text: string): Uint32Array {
  const normal = text.toLowerCase().replace(/\s+/g, ' ').trim().padEnd(stretch, ' ')
  const sketch = new Uint32Array(sketchLength).fill(emptyBin)
  for (let start = 0; start + stretch <= normal.length; start++) {
    const hash = hashOf(normal, start)
    const bin = hash & (sketchLength - 1)
    // Mixed again, so that the value does not depend on the bin.
    const value = mix(hash ^ 0x9e37_79b9)
    if (value < (sketch[bin] as number)) sketch[bin] = value
  }
  return densified(sketch)
}

/** Share of equal values: an estimate of the texts' similarity. */
export function similarity(a: Uint32Array, b: Uint32Array): number {
  let equal = 0
  for (let n = 0; n < sketchLength; n++) if (a[n] === b[n]) equal++
  return equal / sketchLength
}

/** How sketches are cut into bands: texts with one equal band are held against each other. */
export interface Bands {
  readonly count: number
  readonly length: number
}

/** The longest bands that still bring at least 99 % of pairs together whose similarity is just high enough. */
export function bandsFor(threshold: number): Bands {
  for (let length = 24; length > 1; length--) {
    const count = Math.floor(sketchLength / length)
    if (1 - (1 - threshold ** length) ** count >= 0.99) return { count, length }
  }
  return { count: sketchLength, length: 1 }
}

/** Key of a band: 53 bits, so that it fits a number. `salt` keeps apart what must not be compared. */
export function bandKey(sketch: Uint32Array, band: number, { length }: Bands, salt: number): number {
  let high = mix(salt ^ band)
  let low = mix(~salt + band)
  for (let n = band * length; n < (band + 1) * length; n++) {
    high = mix(high ^ (sketch[n] as number))
    low = mix((low + (sketch[n] as number)) | 0)
  }
  return (high >>> 11) * 2 ** 32 + low
}

/** A number from a text, for salts. */
export function textSalt(text: string): number {
  let hash = 0x811c_9dc5
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x0100_0193)
  return mix(hash)
}

function hashOf(text: string, start: number): number {
  let hash = 0x811c_9dc5
  for (let n = start; n < start + stretch; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x0100_0193)
  return mix(hash)
}

/** The finalizer of MurmurHash3: every bit of the input reaches every bit of the output. */
function mix(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Fills bins that no stretch fell into from others, chosen by the bin alone, so that equal texts stay equal. */
function densified(sketch: Uint32Array): Uint32Array {
  if (!sketch.includes(emptyBin)) return sketch
  return sketch.map((value, bin) => {
    let filled = value
    for (let attempt = 1; filled === emptyBin; attempt++) {
      filled = sketch[mix(Math.imul(bin + 1, 0x9e37_79b1) + attempt) & (sketchLength - 1)] as number
    }
    return filled
  })
}
