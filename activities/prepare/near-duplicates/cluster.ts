import { join } from 'node:path'
import { readExactly, withScratchFile } from '../../../shuffle/scratch-files.ts'
import type { Banding } from './min-hash.ts'
import type { Sketch } from './sketch-slice.ts'

/** Places whose hashes are compared in one go: 16 bytes each. More are compared in several passes over the sketches. */
const maxPlacesInMemory = 8_000_000

/**
 * Joins places that agree in a band. Gives, per place, another place of its cluster or itself, as a forest: follow it with
 * `rootOf`. Memory: 4 bytes per place, and 16 bytes per place of a pass.
 */
export function clusters(folder: string, sketches: readonly Sketch[], { bands }: Banding): Int32Array {
  const total = sketches.reduce((sum, { places }) => sum + places, 0)
  const parents = new Int32Array(total).map((_, place) => place)
  const passes = Math.max(1, Math.ceil(total / maxPlacesInMemory))
  for (let band = 0; band < bands; band++) {
    for (let pass = 0; pass < passes; pass++) {
      const seen = new SeenHashes(Math.ceil(total / passes))
      forEachHash(folder, sketches, band, (place, high, low) => {
        if (low === 0 || high % passes !== pass) return
        const first = seen.firstWith(high, low, place)
        if (first !== place) unite(parents, first, place)
      })
    }
  }
  return parents
}

/** The place that stands for the cluster of `place`. */
export function rootOf(parents: Int32Array, place: number): number {
  let root = place
  for (let parent = parents[root] ?? root; parent !== root; parent = parents[root] ?? root) root = parent
  for (let at = place; at !== root; ) {
    const next = parents[at] ?? root
    parents[at] = root
    at = next
  }
  return root
}

function unite(parents: Int32Array, a: number, b: number): void {
  const rootA = rootOf(parents, a)
  const rootB = rootOf(parents, b)
  if (rootA < rootB) parents[rootB] = rootA
  else parents[rootA] = rootB
}

function forEachHash(
  folder: string,
  sketches: readonly Sketch[],
  band: number,
  visit: (place: number, high: number, low: number) => void,
): void {
  let first = 0
  for (const { name, places } of sketches) {
    const hashes = new Uint32Array(places * 2)
    const bytes = new Uint8Array(hashes.buffer)
    withScratchFile(join(folder, name), (file) => readExactly(file, bytes, band * bytes.length))
    for (let place = 0; place < places; place++) {
      visit(first + place, hashes[place * 2] ?? 0, hashes[place * 2 + 1] ?? 0)
    }
    first += places
  }
}

/** An open-addressing table of 64-bit hashes and the place that had each first. */
class SeenHashes {
  readonly #mask: number
  #highs: Uint32Array
  #lows: Uint32Array
  #places: Int32Array
  #used = 0

  constructor(expected: number) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(16, expected * 1.5)))
    this.#mask = capacity - 1
    this.#highs = new Uint32Array(capacity)
    this.#lows = new Uint32Array(capacity)
    this.#places = new Int32Array(capacity)
  }

  firstWith(high: number, low: number, place: number): number {
    let slot = (high ^ low) & this.#mask
    while (this.#lows[slot] !== 0) {
      if (this.#lows[slot] === low && this.#highs[slot] === high) return this.#places[slot] ?? place
      slot = (slot + 1) & this.#mask
    }
    if (++this.#used > this.#mask * 0.9) throw new Error('More near-duplicate hashes in one pass than were expected')
    this.#highs[slot] = high
    this.#lows[slot] = low
    this.#places[slot] = place
    return place
  }
}
