import { stepsOf } from './steps.ts'

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

/**
 * Positions of the entries in sorted order. The keys' upper bits and the positions are packed into doubles, which sort many
 * times faster than anything with a comparator; where those bits are equal, the whole entries are compared.
 */
export function sortedPositions(entries: Uint8Array): Uint32Array {
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength)
  const count = entries.byteLength / entryBytes
  const keys = new Float64Array(count)
  let min = Number.POSITIVE_INFINITY
  let max = 0
  for (let n = 0; n < count; n++) {
    const key = orderNumber(view, n * entryBytes)
    keys[n] = key
    if (key < min) min = key
    if (key > max) max = key
  }
  const positionSpan = 2 ** Math.ceil(Math.log2(Math.max(2, count)))
  const keySpan = 2 ** 53 / positionSpan
  const scale = (keySpan - 1) / Math.max(1, max - min)
  for (let n = 0; n < count; n++) keys[n] = Math.floor(((keys[n] as number) - min) * scale) * positionSpan + n
  keys.sort()
  const positions = new Uint32Array(count)
  let runStart = 0
  let runKey = -1
  for (let n = 0; n <= count; n++) {
    const packed = keys[n] ?? -1
    const key = Math.floor(packed / positionSpan)
    if (n < count) positions[n] = packed - key * positionSpan
    if (key === runKey) continue
    if (n - runStart > 1) {
      const run = positions.subarray(runStart, n)
      run.sort((a, b) => compareEntries(view, a * entryBytes, b * entryBytes))
    }
    runStart = n
    runKey = key
  }
  return positions
}

/** Positions of the entries by the step of their order key, within a step as they are. */
export function positionsByStep(entries: Buffer): Uint32Array {
  const count = entries.length / entryBytes
  const next = stepsOf(count, (n) => stepAt(entries, n * entryBytes))
  const positions = new Uint32Array(count)
  for (let n = 0; n < count; n++) {
    const step = stepAt(entries, n * entryBytes)
    const place = next[step] ?? 0
    positions[place] = n
    next[step] = place + 1
  }
  return positions
}

/** The step of the key space that the order key of an entry lies in: its upper ten bits. */
export function stepAt(entries: Buffer, at: number): number {
  return entries.readUInt16BE(at) >>> 6
}
