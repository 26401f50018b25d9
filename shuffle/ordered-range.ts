import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A place in the final order, as `<name>.order` holds it: draw key (8 bytes), then u32s: spill, offset, length, group,
 * row, weight, tag.
 */
export const placeBytes = 36
export const placeAt = { draw: 0, spill: 8, offset: 12, length: 16, group: 20, row: 24, weight: 28, tag: 32 } as const

/** A part of the key space put into order. */
export interface OrderedRange {
  readonly name: string
  readonly places: number
  /** Rows that stay and rows that were duplicates, by group. */
  readonly kept: Readonly<Record<number, number>>
  readonly duplicates: Readonly<Record<number, number>>
  /** Cuts of about `sliceBytes` of rows: how many places each has. */
  readonly slices: readonly { readonly places: number; readonly bytes: number }[]
}

/** Collects places in order and writes them as a range. */
export class RangeWriter {
  readonly #kept: Record<number, number> = {}
  readonly #slices: { places: number; bytes: number }[] = []
  readonly #order: Buffer
  #places = 0

  constructor(
    maxPlaces: number,
    readonly sliceBytes: number,
  ) {
    this.#order = Buffer.allocUnsafe(maxPlaces * placeBytes)
  }

  /** Takes the next place; `write` puts its bytes at the number that it is called with. */
  add(group: number, length: number, write: (order: Buffer, place: number) => void): void {
    write(this.#order, this.#places++)
    this.#kept[group] = (this.#kept[group] ?? 0) + 1
    let slice = this.#slices.at(-1)
    if (!slice || slice.bytes + length > this.sliceBytes) {
      slice = { places: 0, bytes: 0 }
      this.#slices.push(slice)
    }
    slice.places++
    slice.bytes += length
  }

  write(folder: string, name: string, duplicates: Record<number, number>): OrderedRange {
    writeFileSync(orderPath(folder, name), this.#order.subarray(0, this.#places * placeBytes))
    return { name, places: this.#places, kept: this.#kept, duplicates, slices: this.#slices }
  }
}

export function orderPath(folder: string, name: string): string {
  return join(folder, `${name}.order`)
}

/** Calls for every place of the ranges, in order: the bytes of its range, where it lies in them, and its number. */
export function forEachPlace(
  folder: string,
  ranges: readonly OrderedRange[],
  visit: (order: Buffer, at: number, place: number) => void,
): void {
  let place = 0
  for (const { name } of ranges) {
    const order = readFileSync(orderPath(folder, name))
    for (let at = 0; at < order.length; at += placeBytes) visit(order, at, place++)
  }
}
