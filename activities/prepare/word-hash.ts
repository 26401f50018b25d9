/** A 32-bit hash of a word (FNV-1a over its UTF-16 units). */
export function wordHash(word: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** Mixes a further 32 bits into a hash (the finaliser of MurmurHash3 behind each step). */
export function mixed(hash: number, value: number): number {
  let mix = Math.imul(hash ^ value, 0x85ebca6b)
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35)
  return (mix ^ (mix >>> 16)) >>> 0
}
