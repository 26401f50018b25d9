import { forEachPlace, type OrderedRange, placeAt } from './ordered-range.ts'

/** Rows are drawn whose draw key is at most this; nothing given: all are. */
export type DrawLimit = bigint

const bins = 65_536

/**
 * Finds, per set of groups, the draw key up to which exactly `amount` rows are taken. Two passes over the places:
 * the first counts keys by their upper 16 bits, the second looks only at the bin where the limit falls, so memory does
 * not grow with the rows.
 */
export function drawLimits(
  folder: string,
  ranges: readonly OrderedRange[],
  setOfGroup: (group: number) => number,
  amounts: ReadonlyMap<number, number>,
): Map<number, DrawLimit> {
  const counts = new Map([...amounts.keys()].map((set) => [set, new Uint32Array(bins)]))
  forEachPlace(folder, ranges, (order, at) => {
    const count = counts.get(setOfGroup(order.readUInt32BE(at + placeAt.group)))
    if (count) {
      const bin = order.readUInt16BE(at + placeAt.draw)
      count[bin] = (count[bin] ?? 0) + 1
    }
  })
  const edges = new Map<number, { bin: number; left: number; keys: bigint[] }>()
  for (const [set, count] of counts) edges.set(set, { ...edgeOf(count, amounts.get(set) ?? 0), keys: [] })
  forEachPlace(folder, ranges, (order, at) => {
    const edge = edges.get(setOfGroup(order.readUInt32BE(at + placeAt.group)))
    if (edge && order.readUInt16BE(at + placeAt.draw) === edge.bin) {
      edge.keys.push(order.readBigUInt64BE(at + placeAt.draw))
    }
  })
  return new Map([...edges].map(([set, edge]) => [set, limitAt(edge)]))
}

/** The bin in which the last drawn key lies, and how many are drawn from it. */
function edgeOf(count: Uint32Array, amount: number): { bin: number; left: number } {
  let left = amount
  let bin = 0
  for (; bin < bins - 1 && left > (count[bin] ?? 0); bin++) left -= count[bin] ?? 0
  return { bin, left }
}

function limitAt({ keys, left }: { keys: bigint[]; left: number }): DrawLimit {
  if (left <= 0) return -1n
  keys.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return keys[Math.min(left, keys.length) - 1] ?? -1n
}
