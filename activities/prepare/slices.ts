import type { OrderedRange } from '../../shuffle/ordered-range.ts'

/** A part of an ordered range that fits into memory. */
export interface Slice {
  range: string
  firstPlace: number
  places: number
}

/** All slices of all ranges, in order. */
export function slicesOf(ranges: readonly OrderedRange[]): Slice[] {
  return ranges.flatMap(({ name, slices }) => {
    let firstPlace = 0
    return slices.map(({ places }) => {
      const slice = { range: name, firstPlace, places }
      firstPlace += places
      return slice
    })
  })
}
