import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { trainSplit } from '../../../domain/splits.ts'
import { entryAt, entryBytes, sortedPositions } from '../../../shuffle/entry.ts'
import { loadEntries, placeAt, placeBytes, writePlace } from '../../../shuffle/order-rows.ts'
import { DropMap } from './drop-map.ts'
import { drawSet, type MergeContext, type MergeSpill, type OrderedSplit } from './merge-task-types.ts'

export interface OrderInput {
  readonly spills: readonly MergeSpill[]
  readonly fromStep: number
  readonly toStep: number
  readonly limits: ReadonlyMap<number, bigint>
  readonly name: string
}

/** Sorts the rows that stay of a part of the key space, and writes their order to disk, one file per split. */
export function orderSplits(input: OrderInput, context: MergeContext): OrderedSplit[] {
  const { folder, splits } = context
  const { spills, limits } = input
  const { entries, spillOf } = loadEntries({ folder, ...input })
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength)
  const drops = DropMap.read(folder)
  const splitOf = splitTest(context)
  const orders = splits.map(() => new OrderBuffer())
  for (const position of sortedPositions(entries)) {
    const at = position * entryBytes
    const spill = spillOf[position] ?? 0
    const group = view.getUint32(at + entryAt.group)
    if (drops.has(group, view.getUint32(at + entryAt.row))) continue
    if (limits.size > 0 && context.files[group]?.split === trainSplit) {
      const source = spills[spill]?.sources[view.getUint32(at + entryAt.tag)] ?? 0
      const limit = limits.get(drawSet(context.files[group]?.side ?? 'old', source))
      if (limit !== undefined && view.getBigUint64(at + entryAt.draw) > limit) continue
    }
    const split = splitOf(group, view.getUint32(at + entryAt.id + 12))
    orders[split]?.add(entries, at, spill)
  }
  return orders.map((order, split) => {
    const name = `${input.name}-${split}`
    writeFileSync(join(folder, `${name}.order`), order.written)
    return { split, name, places: order.places, bytes: order.rowBytes }
  })
}

/**
 * The split of a row: its file's, unless it is set aside. That is decided by the conversation's id alone, so that it stays
 * where it is from version to version, whatever else changes.
 */
function splitTest({ files, splits, options: { holdout } }: MergeContext) {
  const numberOf = files.map(({ split }) => splits.indexOf(split))
  const train = splits.indexOf(trainSplit)
  const aside = holdout ? splits.indexOf(holdout.split) : -1
  const below = (holdout?.share ?? 0) * 2 ** 32
  return (file: number, idEnd: number): number => {
    const split = numberOf[file] ?? train
    return split === train && idEnd < below ? aside : split
  }
}

/** Collects places. */
class OrderBuffer {
  places = 0
  rowBytes = 0
  #buffer = Buffer.allocUnsafeSlow(1024 * placeBytes)

  add(entries: Buffer, at: number, spill: number): void {
    const to = this.places * placeBytes
    if (to === this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(this.#buffer.length * 2)
      this.#buffer.copy(larger)
      this.#buffer = larger
    }
    writePlace(this.#buffer, this.places, entries, at, spill)
    this.rowBytes += this.#buffer.readUInt32BE(to + placeAt.length)
    this.places++
  }

  get written(): Buffer {
    return this.#buffer.subarray(0, this.places * placeBytes)
  }
}
