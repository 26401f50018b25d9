import type { TokenTotals } from './commit.ts'

/** A shard on an engine, or finished there and not committed yet. */
export interface ShardLive extends TokenTotals {
  shard: number
  epoch: number
  /** Of the whole shard, what earlier dispatches finished included. */
  samples: number
  failures: number
}

/** `live/<engine>.json`: what happens on one engine for a run, replaced every few seconds. */
export interface EngineLive {
  engine: string
  /** When it was written; an old one means that the engine's worker is gone, or the store out of its reach. */
  at: string
  /** Of the gate: `open`, `shut`, `lost` or `refused`. */
  state: string
  why: string
  /** Requests that may be in flight. */
  permits: number
  inFlight: number
  /** As the engine reports it. */
  load?: { running: number; waiting: number }
  shards: ShardLive[]
}

/** The latest word on each shard that is not committed: of several engines, the one with the highest epoch. */
export function liveShards(reports: readonly EngineLive[], isCommitted: (shard: number) => boolean): ShardLive[] {
  const latest = new Map<number, ShardLive>()
  for (const live of reports.flatMap((report) => report.shards)) {
    const known = latest.get(live.shard)
    if (!isCommitted(live.shard) && (!known || live.epoch > known.epoch)) latest.set(live.shard, live)
  }
  return [...latest.values()]
}
