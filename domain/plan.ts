import type { FilterReason } from './filter.ts'
import type { RejectReason } from './reject.ts'

/** What became of the rows of one source: `read = rejected + filtered + duplicates + notDrawn + prompts`. */
export interface SourceAccount {
  name: string
  read: number
  /** Rows that never became a prompt, by reason; each is listed in `rejects/<source>.jsonl`. */
  rejected: Partial<Record<RejectReason, number>>
  /** Rows that the spec's filters left out, by reason. */
  filtered: Partial<Record<FilterReason, number>>
  /** Rows whose skeleton an earlier row has, of this source or another. */
  duplicates: number
  /** How many of the duplicates only nearly repeat an earlier row. */
  nearDuplicates: number
  /** Rows that `limit`, `share`, `weight` or the target left out. */
  notDrawn: number
  prompts: number
  /** Changes that rows went through without being lost, such as empty turns dropped, by kind. */
  notes: Record<string, number>
  /** Rows by the schema that they were read with. */
  schemas: Record<string, number>
  /** The files that were read, in reading order; without a size where the server did not tell. */
  files: { uri: string; bytes: number | null; rows: number }[]
  /** Files that could not be read to their end and were left out as a whole; their rows count nowhere. */
  skippedFiles: { uri: string; why: string }[]
}

/** Made once by prepare and never recomputed: which prompts there are, and in which shard each is. */
export interface Plan {
  run: string
  specHash: string
  seed: string
  /** All prompts of the run. */
  prompts: number
  /** Size of each shard, in the order of dispatch. */
  shardSizes: number[]
  /** SHA-256 over all promptIds in shard order, a line each. */
  idsHash: string
  sources: SourceAccount[]
}

/** What the prepare stage reports: small enough for a workflow's history, whatever the size of the run. */
export interface PlanSummary {
  run: string
  specHash: string
  /** Key of plan.json in the store, and the SHA-256 of its bytes. */
  planKey: string
  planHash: string
  prompts: number
  shards: number
  idsHash: string
  read: number
  rejected: number
  filtered: number
  duplicates: number
  notDrawn: number
}

export interface ShardCut {
  prompts: number
  shardSize: number
  engines: number
  lanes: number
}

/** No shard is cut smaller than this: below it, a shard's own costs outweigh the better balance. */
const smallestShard = 8

/**
 * Sizes of the shards. The last ones taper as in guided self-scheduling (Polychronopoulos and Kuck, 1987): a shard holds at
 * most its lane's share of the prompts that are left, so that no engine sits on unstarted prompts while others idle at the
 * end of a run.
 */
export function cutShards({ prompts, shardSize, engines, lanes }: ShardCut): number[] {
  const sizes: number[] = []
  for (let left = prompts; left > 0; ) {
    const fairShare = Math.ceil(left / (engines * lanes))
    const size = Math.min(left, shardSize, Math.max(smallestShard, fairShare))
    sizes.push(size)
    left -= size
  }
  return sizes
}
