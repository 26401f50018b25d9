import { join } from 'node:path'
import { entryAt, entryBytes, sameId, sortedPositions } from './entry.ts'
import { type OrderedRange, placeAt, placeBytes, RangeWriter } from './ordered-range.ts'
import { readExactly, withScratchFile } from './scratch-files.ts'
import type { Spill } from './spill-writer.ts'

export { type OrderedRange, placeAt, placeBytes } from './ordered-range.ts'

export interface OrderOptions {
  readonly folder: string
  readonly spills: readonly Spill[]
  /** Steps of the key space: first, and the one after the last. */
  readonly fromStep: number
  readonly toStep: number
  /** Groups whose rows do not count: files that turned out bad. */
  readonly withoutGroups: readonly number[]
  readonly dedupe: boolean
  readonly sliceBytes: number
}

/** Sorts the entries of a part of the key space from all spills, leaves out duplicates, and writes the order to disk. */
export function orderRange(options: OrderOptions): OrderedRange {
  const { folder, fromStep, withoutGroups, dedupe, sliceBytes } = options
  const { entries, spillOf } = loadEntries(options)
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength)
  const without = new Set(withoutGroups)
  const duplicates: Record<number, number> = {}
  const range = new RangeWriter(spillOf.length, sliceBytes)
  let last = -1
  for (const position of sortedPositions(entries)) {
    const at = position * entryBytes
    const group = view.getUint32(at + entryAt.group)
    if (without.has(group)) continue
    if (dedupe && last >= 0 && sameId(view, last, at)) {
      duplicates[group] = (duplicates[group] ?? 0) + 1
      continue
    }
    last = at
    range.add(group, view.getUint32(at + entryAt.length), (order, place) =>
      writePlace(order, place, entries, at, spillOf[position] ?? 0),
    )
  }
  return range.write(folder, `order-${String(fromStep).padStart(4, '0')}`, duplicates)
}

/** The entries of a part of the key space, spill by spill, and the spill of each. */
export function loadEntries({
  folder,
  spills,
  fromStep,
  toStep,
}: Pick<OrderOptions, 'folder' | 'spills' | 'fromStep' | 'toStep'>): { entries: Buffer; spillOf: Uint32Array } {
  const counts = spills.map(({ steps }) => (steps[toStep] ?? 0) - (steps[fromStep] ?? 0))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const entries = Buffer.allocUnsafeSlow(total * entryBytes)
  const spillOf = new Uint32Array(total)
  let loaded = 0
  spills.forEach(({ name, steps }, n) => {
    const count = counts[n] ?? 0
    if (count === 0) return
    const target = entries.subarray(loaded * entryBytes, (loaded + count) * entryBytes)
    withScratchFile(join(folder, `${name}.index`), (file) =>
      readExactly(file, target, (steps[fromStep] ?? 0) * entryBytes),
    )
    spillOf.fill(n, loaded, loaded + count)
    loaded += count
  })
  return { entries, spillOf }
}

/** Writes the place of an entry. */
export function writePlace(order: Buffer, place: number, entries: Buffer, at: number, spill: number): void {
  const to = place * placeBytes
  entries.copy(order, to + placeAt.draw, at + entryAt.draw, at + entryAt.draw + 8)
  order.writeUInt32BE(spill, to + placeAt.spill)
  entries.copy(order, to + placeAt.offset, at + entryAt.offset, at + entryAt.offset + 8)
  entries.copy(order, to + placeAt.group, at + entryAt.group, at + entryAt.group + 8)
  entries.copy(order, to + placeAt.weight, at + entryAt.weight, at + entryAt.weight + 8)
}
