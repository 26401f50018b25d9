/** What became of the rows of one source: `read = rejected + filtered + duplicates + notDrawn + prompts`. */
export interface SourceAccount {
  name: string
  read: number
  /** Rows that never became a prompt, by reason; each is listed in `rejects/<source>.jsonl`. */
  rejected: Record<string, number>
  filtered: Record<string, number>
  duplicates: number
  /** Rows that `limit`, `share`, `weight` or the target left out. */
  notDrawn: number
  prompts: number
  /** The files that were read, in reading order. */
  files: { uri: string; bytes: number; rows: number }[]
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
 * most its lane's share, halved, of the prompts that are left, so that no engine sits on unstarted prompts while others
 * idle at the end of a run.
 */
export function cutShards({ prompts, shardSize, engines, lanes }: ShardCut): number[] {
  const sizes: number[] = []
  for (let left = prompts; left > 0; ) {
    const fairShare = Math.ceil(left / (2 * engines * lanes))
    const size = Math.min(left, shardSize, Math.max(smallestShard, fairShare))
    sizes.push(size)
    left -= size
  }
  return sizes
}
