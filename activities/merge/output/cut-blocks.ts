import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatasetFormat } from '../../../domain/dataset.ts'
import { placeAt, placeBytes } from '../../../shuffle/order-rows.ts'
import type { OrderedSplit, Stretch } from '../shuffle/merge-task-types.ts'

/** Rows that are encoded in one go: a member of a gzip file, a record batch, a row group. */
export interface Block {
  readonly split: number
  /** File of the split, from 0, and how many there are. */
  readonly part: number
  readonly parts: number
  readonly isLastOfPart: boolean
  readonly isOnlySplit: boolean
  readonly stretches: readonly Stretch[]
}

/** Shows in the bytes of files, so it is no setting. Row groups are read as a whole, and found by a list of them. */
const blockBytes = 16 * 1024 * 1024

/** Room for any block: a row more than that, and the little that a format adds. */
export function spaceBytes({ format }: Pick<CutOptions, 'format'>): number {
  return format === 'jsonl' ? blockBytes + blockBytes / 8 : blockBytes * 2
}

interface CutOptions {
  fileBytes: number
  format: DatasetFormat
}

/**
 * Cuts the rows of each split into files of about equal size, and those into blocks. Where the cuts are depends on the rows
 * alone: not on the memory, which decides about ranges.
 */
export function* cutBlocks(folder: string, ranges: readonly OrderedSplit[], options: CutOptions): Generator<Block> {
  const splits = new Set(ranges.map((range) => range.split))
  for (const split of splits) {
    yield* cutSplit(
      folder,
      split,
      ranges.filter((range) => range.split === split),
      { ...options, isOnlySplit: splits.size === 1 },
    )
  }
}

function* cutSplit(
  folder: string,
  split: number,
  ranges: readonly OrderedSplit[],
  { fileBytes, isOnlySplit }: CutOptions & { isOnlySplit: boolean },
): Generator<Block> {
  const totalBytes = ranges.reduce((sum, { bytes }) => sum + bytes, 0)
  const parts = Math.max(1, Math.round(totalBytes / fileBytes))
  let part = 0
  let done = 0
  let inBlock = 0
  let stretches: Stretch[] = []
  const close = (isLastOfPart: boolean): Block => {
    const block = { split, part, parts, isLastOfPart, isOnlySplit, stretches }
    stretches = []
    inBlock = 0
    if (isLastOfPart) part++
    return block
  }
  for (const [n, { name, places }] of ranges.entries()) {
    const isLastRange = n === ranges.length - 1
    const order = readFileSync(join(folder, `${name}.order`))
    let firstPlace = 0
    for (let place = 0; place < places; place++) {
      const length = order.readUInt32BE(place * placeBytes + placeAt.length)
      done += length
      inBlock += length
      const isEnd = isLastRange && place === places - 1
      const isLastOfPart = isEnd || (part < parts - 1 && done >= (totalBytes * (part + 1)) / parts)
      if (!isLastOfPart && inBlock < blockBytes) continue
      stretches.push({ range: name, firstPlace, places: place + 1 - firstPlace })
      firstPlace = place + 1
      yield close(isLastOfPart)
    }
    if (firstPlace < places) stretches.push({ range: name, firstPlace, places: places - firstPlace })
  }
}
