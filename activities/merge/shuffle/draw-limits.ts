import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { trainSplit } from '../../../domain/splits.ts'
import { entryAt, entryBytes } from '../../../shuffle/entry.ts'
import type { DropMap } from './drop-map.ts'
import { drawSet, type MergeContext, type MergeSpill } from './merge-task-types.ts'

const bins = 65_536

export interface DrawContext extends Pick<MergeContext, 'folder' | 'files'> {
  readonly drops: DropMap
}

/**
 * Finds, for sets of a side and a source of which not all rows are kept, the draw key up to which exactly `amounts` are.
 * Two passes over the entries, as many sets at a time as memory is set aside for: the first counts keys by their upper 16
 * bits, the second looks only at the bin in which the limit falls.
 */
export function findDrawLimits(
  context: DrawContext,
  spills: readonly MergeSpill[],
  amounts: ReadonlyMap<number, number>,
): Map<number, bigint> {
  const limits = new Map<number, bigint>()
  const sets = [...amounts.keys()]
  for (let start = 0; start < sets.length; start += setsAtATime) {
    const some = new Map(sets.slice(start, start + setsAtATime).map((set) => [set, amounts.get(set) ?? 0]))
    for (const [set, limit] of limitsOf(context, spills, some)) limits.set(set, limit)
  }
  return limits
}

/** A quarter of a megabyte each. */
const setsAtATime = 128

function limitsOf(
  context: DrawContext,
  spills: readonly MergeSpill[],
  amounts: ReadonlyMap<number, number>,
): Map<number, bigint> {
  const counts = new Map([...amounts.keys()].map((set) => [set, new Uint32Array(bins)]))
  forEachRow(context, spills, (set, index, at) => {
    const count = counts.get(set)
    if (!count) return
    const bin = index.readUInt16BE(at + entryAt.draw)
    count[bin] = (count[bin] ?? 0) + 1
  })
  const edges = new Map(
    [...counts].map(([set, count]) => [set, { ...edgeOf(count, amounts.get(set) ?? 0), keys: [] as bigint[] }]),
  )
  forEachRow(context, spills, (set, index, at) => {
    const edge = edges.get(set)
    if (edge?.bin === index.readUInt16BE(at + entryAt.draw)) edge.keys.push(index.readBigUInt64BE(at + entryAt.draw))
  })
  return new Map([...edges].map(([set, { left, keys }]) => [set, limitAt(keys, left)]))
}

/** The bin in which the last kept key lies, and how many are kept from it. */
function edgeOf(count: Uint32Array, amount: number): { bin: number; left: number } {
  let left = amount
  let bin = 0
  for (; bin < bins - 1 && left > (count[bin] ?? 0); bin++) left -= count[bin] ?? 0
  return { bin, left }
}

function limitAt(keys: bigint[], left: number): bigint {
  if (left <= 0) return -1n
  keys.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return keys[Math.min(left, keys.length) - 1] ?? -1n
}

/** Calls for the entry of every training row that was not dropped. */
function forEachRow(
  { folder, files, drops }: DrawContext,
  spills: readonly MergeSpill[],
  visit: (set: number, index: Buffer, at: number) => void,
): void {
  for (const { name, sources } of spills) {
    const index = readFileSync(join(folder, `${name}.index`))
    for (let at = 0; at < index.length; at += entryBytes) {
      const group = index.readUInt32BE(at + entryAt.group)
      const file = files[group]
      if (file?.split !== trainSplit || drops.has(group, index.readUInt32BE(at + entryAt.row))) continue
      visit(drawSet(file.side, sources[index.readUInt32BE(at + entryAt.tag)] ?? 0), index, at)
    }
  }
}
