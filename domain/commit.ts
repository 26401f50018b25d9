/** An object that a shard's commit record vouches for. */
export interface CommittedObject {
  /** Key in the store. */
  key: string
  rows: number
  bytes: number
  /** SHA-256 of the object's bytes, in hex. */
  sha256: string
}

/** Token sums over the samples of a shard or a run. */
export interface TokenTotals {
  inputTokens: number
  outputTokens: number
}

/**
 * `shards/00012.json`: written once and last, so its presence says that the shard is done and that the objects it lists are
 * in the store, whole. Ids of samples and failures are disjoint and together are the shard's.
 */
export interface ShardCommit extends TokenTotals {
  run: string
  shard: number
  /** Dispatch that wrote the record. */
  epoch: number
  model: string
  weightVersion: string
  prompts: number
  samples: number
  failures: number
  /** Samples that were cut at the token limit. */
  truncated: number
  /** Failures by reason. */
  reasons: Record<string, number>
  /** Samples and failures by source. */
  sources: { samples: Record<string, number>; failures: Record<string, number> }
  sampleObjects: CommittedObject[]
  failureObjects: CommittedObject[]
  committedAt: string
}

/**
 * `manifest.json` of a run: every object with what it holds, so that nobody needs to list or guess. Written when the run
 * ends, and again when a retry ends.
 */
export interface RunManifest extends TokenTotals {
  run: string
  specHash: string
  planHash: string
  model: string
  weightVersion: string
  prompts: number
  samples: number
  failures: number
  truncated: number
  reasons: Record<string, number>
  /** Samples and failures by source. */
  sources: { samples: Record<string, number>; failures: Record<string, number> }
  promptObjects: CommittedObject[]
  sampleObjects: CommittedObject[]
  /** Failures that were asked again stand in them, too: those count by the outcome in the shards of their last retry. */
  failureObjects: CommittedObject[]
  retries: { round: number; firstShard: number; shards: number; prompts: number }[]
  /** Stored size of all sample objects. */
  sampleBytes: number
  completedAt: string
}
