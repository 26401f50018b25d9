import { readFileSync } from 'node:fs'
import { type OrderedRange, orderPath, placeAt, placeBytes, RangeWriter } from './ordered-range.ts'

/** Writes a range again without some of its places, which count as duplicates. Places are numbered from `firstPlace` on. */
export function dropPlaces(
  folder: string,
  range: OrderedRange,
  firstPlace: number,
  sliceBytes: number,
  isDropped: (place: number) => boolean,
): OrderedRange {
  const order = readFileSync(orderPath(folder, range.name))
  const kept = new RangeWriter(range.places, sliceBytes)
  const duplicates = { ...range.duplicates }
  for (let n = 0; n < range.places; n++) {
    const at = n * placeBytes
    const group = order.readUInt32BE(at + placeAt.group)
    if (isDropped(firstPlace + n)) {
      duplicates[group] = (duplicates[group] ?? 0) + 1
      continue
    }
    kept.add(group, order.readUInt32BE(at + placeAt.length), (target, place) =>
      order.copy(target, place * placeBytes, at, at + placeBytes),
    )
  }
  return kept.write(folder, `${range.name}-distinct`, duplicates)
}
