/** A set of shard numbers as ranges `[first, last]`, in order and never touching: small however many shards are done. */
export type ShardRanges = [first: number, last: number][]

export function rangesOf(shards: Iterable<number>): ShardRanges {
  const ranges: ShardRanges = []
  for (const shard of [...new Set(shards)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && last[1] === shard - 1) last[1] = shard
    else ranges.push([shard, shard])
  }
  return ranges
}

export function hasShard(ranges: ShardRanges, shard: number): boolean {
  return ranges.some(([first, last]) => first <= shard && shard <= last)
}

export function countShards(ranges: ShardRanges): number {
  return ranges.reduce((count, [first, last]) => count + last - first + 1, 0)
}

/** Adds a shard in place; says whether it is new. */
export function addShard(ranges: ShardRanges, shard: number): boolean {
  if (hasShard(ranges, shard)) return false
  const at = ranges.findIndex(([first]) => first > shard)
  const after = at === -1 ? ranges.length : at
  const previous = ranges[after - 1]
  const next = ranges[after]
  const joinsPrevious = previous !== undefined && previous[1] === shard - 1
  const joinsNext = next !== undefined && next[0] === shard + 1
  if (joinsPrevious && joinsNext) {
    previous[1] = next[1]
    ranges.splice(after, 1)
  } else if (joinsPrevious) previous[1] = shard
  else if (joinsNext) next[0] = shard
  else ranges.splice(after, 0, [shard, shard])
  return true
}
