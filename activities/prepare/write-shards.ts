import { createHash, type Hash } from 'node:crypto'
import { type DrawLimit, drawLimits } from '../../shuffle/draw.ts'
import type { GatheredRows } from '../../shuffle/gather-rows.ts'
import { mapInOrder } from '../../shuffle/map-in-order.ts'
import type { OrderedRange } from '../../shuffle/ordered-range.ts'
import type { Accounts } from './accounts.ts'
import type { PrepareIo } from './prepare-run.ts'
import type { ScannedSources } from './scan-sources.ts'
import { ShardAssembler } from './shard-assembler.ts'
import { slicesOf } from './slices.ts'
import type { NumberedFile } from './source-list.ts'

export interface OrderedPrompts {
  readonly scanned: ScannedSources
  readonly ranges: readonly OrderedRange[]
  readonly files: readonly NumberedFile[]
  readonly accounts: Accounts
  /** Prompts to draw, by source. */
  readonly amounts: readonly number[]
  readonly shardSizes: readonly number[]
}

/** Gathers the drawn prompts in their final order and cuts them into shards. Gives the hash over all ids. */
export async function writeShards(ordered: OrderedPrompts, io: PrepareIo): Promise<string> {
  const { scanned, ranges, shardSizes } = ordered
  const spills = scanned.batches.flatMap((batch) => batch.spills.map(({ name }) => ({ name })))
  const limits = limitsByFile(ordered, io.folder)
  const slices = slicesOf(ranges)
  const ids = createHash('sha256')
  const shards = new ShardAssembler(shardSizes, (shard, lines) => io.output.putShard(shard, lines))
  io.meter.begin('writing', slices.length)
  for await (const rows of mapInOrder(slices, io.threads + 1, (slice) =>
    io.tasks.gather({ ...slice, spills, limits }),
  )) {
    io.signal.throwIfAborted()
    await shards.add(rows.bytes, rows.lengths)
    hashIds(ids, rows)
    io.meter.advance(1)
  }
  await shards.finish()
  return ids.digest('hex')
}

/** Draw limits of the sources that give only a part, by file. */
function limitsByFile(ordered: OrderedPrompts, folder: string): Map<number, DrawLimit> {
  const { ranges, files, accounts, amounts } = ordered
  const partial = new Map([...amounts.entries()].filter(([source, amount]) => amount < accounts.available(source)))
  if (partial.size === 0) return new Map()
  const limits = drawLimits(folder, ranges, (file) => files[file]?.source ?? -1, partial)
  return new Map(
    files.flatMap(({ number, source }) => {
      const limit = limits.get(source)
      return limit === undefined ? [] : [[number, limit] as const]
    }),
  )
}

const idStart = '{"promptId":"'.length
const idLength = 32

/** A line per id; it stands at the same place in every prompt. */
function hashIds(hash: Hash, { bytes, lengths }: GatheredRows): void {
  const ids = Buffer.alloc(lengths.length * (idLength + 1), '\n')
  let at = 0
  lengths.forEach((length, n) => {
    ids.set(bytes.subarray(at + idStart, at + idStart + idLength), n * (idLength + 1))
    at += length
  })
  hash.update(ids)
}
