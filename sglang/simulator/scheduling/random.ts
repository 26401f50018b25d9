/** A stream of 32-bit numbers that is the same for the same seed. */
export type Random = () => number

/** xorshift32: a few nanoseconds a number, good enough to choose words and lengths with. */
export function randomFrom(seed: number): Random {
  let state = mix(seed) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

/** A number in (0, 1), never either end, so that its logarithm exists. */
export function uniform(random: Random): number {
  return (random() + 0.5) / 2 ** 32
}

/** A draw from the standard normal distribution. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(uniform(random))) * Math.cos(2 * Math.PI * uniform(random))
}

/** Spreads every bit of a number over 32. */
export function mix(value: number): number {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** 32-bit hash of a list of whole numbers; another `basis` gives another hash. */
export function hashOf(numbers: ArrayLike<number>, basis = 0): number {
  let hash = mix(basis ^ 0x9e3779b9)
  for (let at = 0; at < numbers.length; at++) {
    hash = Math.imul(hash ^ (numbers[at] ?? 0), 0x01000193)
    hash ^= hash >>> 15
  }
  return mix(hash ^ numbers.length)
}
