import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { NearDuplicates } from '../../../domain/spec.ts'
import { dropPlaces } from '../../../shuffle/drop-places.ts'
import { mapInOrder } from '../../../shuffle/map-in-order.ts'
import { forEachPlace, type OrderedRange, placeAt } from '../../../shuffle/ordered-range.ts'
import type { Spill } from '../../../shuffle/spill-writer.ts'
import type { PrepareIo } from '../prepare-run.ts'
import { slicesOf } from '../slices.ts'
import { clusters, rootOf } from './cluster.ts'
import { bandingFor } from './min-hash.ts'
import type { Sketch } from './sketch-slice.ts'

/**
 * Leaves out prompts that nearly repeat another one: of each cluster the one that was read first stays. Memory: 12 bytes
 * per prompt, and some more while clustering.
 */
export async function dropNearDuplicates(
  { similarity }: NearDuplicates,
  spills: readonly Spill[],
  ranges: readonly OrderedRange[],
  io: PrepareIo,
): Promise<OrderedRange[]> {
  const { folder, sizes, signal, meter } = io
  const banding = bandingFor(similarity)
  const names = spills.map(({ name }) => ({ name }))
  const slices = slicesOf(ranges)
  meter.begin('comparing', slices.length)
  const sketches: Sketch[] = []
  for await (const sketch of mapInOrder(slices, io.threads, (slice) =>
    io.tasks.sketch({ ...slice, spills: names, banding }),
  )) {
    signal.throwIfAborted()
    sketches.push(sketch)
    meter.advance(1)
  }
  const parents = clusters(folder, sketches, banding)
  for (const { name } of sketches) await rm(join(folder, name))
  const firsts = firstOfClusters(folder, ranges, parents)
  let firstPlace = 0
  return ranges.map((range) => {
    const distinct = dropPlaces(folder, range, firstPlace, sizes.sliceBytes, (place) => !firsts.has(place))
    firstPlace += range.places
    return distinct
  })
}

/** Per cluster the place whose row was read first: in the order of files, and of rows in them. */
function firstOfClusters(
  folder: string,
  ranges: readonly OrderedRange[],
  parents: Int32Array,
): { has(place: number): boolean } {
  const earliest = new Float64Array(parents.length).fill(Number.POSITIVE_INFINITY)
  const first = new Int32Array(parents.length)
  forEachPlace(folder, ranges, (order, at, place) => {
    const readAt = order.readUInt32BE(at + placeAt.group) * 2 ** 32 + order.readUInt32BE(at + placeAt.row)
    const root = rootOf(parents, place)
    if (readAt >= (earliest[root] ?? 0)) return
    earliest[root] = readAt
    first[root] = place
  })
  return { has: (place) => first[rootOf(parents, place)] === place }
}
