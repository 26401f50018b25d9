import { join } from 'node:path'
import type { DrawLimit } from './draw.ts'
import { placeAt, placeBytes } from './order-rows.ts'
import { type OpenScratchFiles, readExactly, type ScratchFile, withScratchFile } from './scratch-files.ts'
import type { Spill } from './spill-writer.ts'

/** Rows in their final order, one after the other. */
export interface GatheredRows {
  readonly bytes: Uint8Array
  readonly lengths: Uint32Array
  readonly groups: Uint32Array
  readonly weights: Uint32Array
  readonly tags: Uint32Array
  /** Which spill each row comes from, by its number in the list. */
  readonly spillOf: Uint32Array
}

export interface GatherOptions {
  readonly folder: string
  readonly spills: readonly Pick<Spill, 'name'>[]
  /** Name of the ordered range and the part of it that is wanted. */
  readonly range: string
  readonly firstPlace: number
  readonly places: number
  /** Draw limits by group; groups without one are taken whole. */
  readonly limits: ReadonlyMap<number, DrawLimit>
  /** Gives memory for the rows; left out: new memory. */
  readonly allocate?: (bytes: number) => Buffer
  /** Keeps spills open from one call to the next; left out: each is opened and closed. */
  readonly open?: OpenScratchFiles
}

/** Rows of one spill that lie at most so far apart are fetched by one read: seeking costs more than reading over a gap. */
const gapBytes = 64 * 1024

/** Fetches a slice of the final order from the spills. */
export function gatherRows(options: GatherOptions): GatheredRows {
  const { folder, spills, range, firstPlace, places, limits, allocate = Buffer.allocUnsafeSlow, open } = options
  const order = Buffer.allocUnsafeSlow(places * placeBytes)
  withScratchFile(join(folder, `${range}.order`), (file) => readExactly(file, order, firstPlace * placeBytes))
  const drawn = drawnPlaces(order, limits)
  const lengths = new Uint32Array(drawn.length)
  const groups = new Uint32Array(drawn.length)
  const weights = new Uint32Array(drawn.length)
  const tags = new Uint32Array(drawn.length)
  const spillOf = new Uint32Array(drawn.length)
  const targets = new Uint32Array(drawn.length)
  const bySpill = new Map<number, number[]>()
  let total = 0
  drawn.forEach((at, n) => {
    lengths[n] = order.readUInt32BE(at + placeAt.length)
    groups[n] = order.readUInt32BE(at + placeAt.group)
    weights[n] = order.readUInt32BE(at + placeAt.weight)
    tags[n] = order.readUInt32BE(at + placeAt.tag)
    targets[n] = total
    total += lengths[n] as number
    const spill = order.readUInt32BE(at + placeAt.spill)
    spillOf[n] = spill
    const wanted = bySpill.get(spill)
    if (wanted) wanted.push(n)
    else bySpill.set(spill, [n])
  })
  const bytes = allocate(total)
  const offsetOf = (n: number) => order.readUInt32BE((drawn[n] ?? 0) + placeAt.offset)
  const lengthOf = (n: number) => lengths[n] ?? 0
  for (const [spill, wanted] of bySpill) {
    wanted.sort((a, b) => offsetOf(a) - offsetOf(b))
    const path = join(folder, `${spills[spill]?.name}.rows`)
    const fetch = (file: ScratchFile) => fetchRows(file, wanted, { offsetOf, lengthOf, targets, bytes })
    if (open) fetch(open.get(path))
    else withScratchFile(path, fetch)
  }
  return { bytes, lengths, groups, weights, tags, spillOf }
}

function drawnPlaces(order: Buffer, limits: ReadonlyMap<number, DrawLimit>): number[] {
  const drawn: number[] = []
  for (let at = 0; at < order.length; at += placeBytes) {
    const limit = limits.size > 0 ? limits.get(order.readUInt32BE(at + placeAt.group)) : undefined
    if (limit === undefined || order.readBigUInt64BE(at + placeAt.draw) <= limit) drawn.push(at)
  }
  return drawn
}

interface Fetch {
  offsetOf: (n: number) => number
  lengthOf: (n: number) => number
  targets: Uint32Array
  bytes: Buffer
}

function fetchRows(file: ScratchFile, wanted: readonly number[], { offsetOf, lengthOf, targets, bytes }: Fetch): void {
  for (let first = 0; first < wanted.length; ) {
    const start = offsetOf(wanted[first] ?? 0)
    let end = start
    let next = first
    for (; next < wanted.length; next++) {
      const n = wanted[next] ?? 0
      if (offsetOf(n) > end + gapBytes) break
      end = offsetOf(n) + lengthOf(n)
    }
    const stretch = stretchOf(end - start)
    readExactly(file, stretch, start)
    for (; first < next; first++) {
      const n = wanted[first] ?? 0
      stretch.copy(bytes, targets[n] ?? 0, offsetOf(n) - start, offsetOf(n) - start + lengthOf(n))
    }
  }
}

let stretchSpace = Buffer.alloc(0)

/** Memory that is used again and again: each stretch is copied out of it before the next one is read. */
function stretchOf(bytes: number): Buffer {
  if (bytes > stretchSpace.length) stretchSpace = Buffer.allocUnsafeSlow(bytes * 2)
  return stretchSpace.subarray(0, bytes)
}
