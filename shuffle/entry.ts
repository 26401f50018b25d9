/**
 * A spilled row as the index of a spill knows it: fixed-size, so that millions are sorted without being parsed.
 *
 *     0  order key, 8 bytes: the row's place in the shuffled order
 *     8  draw key, 8 bytes: which rows are taken when not all are
 *    16  id, 16 bytes: equal ids are duplicates
 *    32  group, u32: the file (or part) that the row comes from; 36 row in it, u32
 *    40  offset in the spill's rows, u32; 44 length, u32; 48 weight, u32 (what the caller wants summed, such as tokens)
 *    52  tag, u32: what else the caller wants rows to be told apart by
 */
export const entryBytes = 56

export const entryAt = {
  ...{ order: 0, draw: 8, id: 16, group: 32, row: 36 },
  ...{ offset: 40, length: 44, weight: 48, tag: 52 },
} as const

/** The order key's upper 53 bits as a number: exact in a double, and enough to sort all but ties by. */
export function orderNumber(entries: DataView, at: number): number {
  return entries.getUint32(at) * 0x20_0000 + (entries.getUint32(at + 4) >>> 11)
}

/**
 * Compares two entries: by order key, then id, then group and row. Ids of equal rows have equal order keys, so duplicates
 * end up side by side, the one that was read first in front.
 */
export function compareEntries(entries: DataView, a: number, b: number): number {
  for (let at = 0; at < entryAt.offset; at += 4) {
    if (at === entryAt.draw) at = entryAt.id
    const difference = entries.getUint32(a + at) - entries.getUint32(b + at)
    if (difference !== 0) return difference
  }
  return 0
}

export function sameId(entries: DataView, a: number, b: number): boolean {
  for (let at = entryAt.id; at < entryAt.group; at += 4) {
    if (entries.getUint32(a + at) !== entries.getUint32(b + at)) return false
  }
  return true
}

/** Positions of the entries in sorted order. */
export function sortedPositions(entries: Uint8Array): Uint32Array {
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength)
  const count = entries.byteLength / entryBytes
  const keys = new Float64Array(count)
  const positions = new Uint32Array(count)
  for (let n = 0; n < count; n++) {
    keys[n] = orderNumber(view, n * entryBytes)
    positions[n] = n
  }
  return positions.sort((a, b) => {
    const difference = (keys[a] as number) - (keys[b] as number)
    return difference !== 0 ? difference : compareEntries(view, a * entryBytes, b * entryBytes)
  })
}
