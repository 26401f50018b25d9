/** How many items have each key. */
export function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1
  return counts
}

/** Adds up counts key by key. */
export function sumCounts(counts: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const part of counts) for (const [key, count] of Object.entries(part)) sums[key] = (sums[key] ?? 0) + count
  return sums
}

/** Takes counts off others key by key; keys that come to nothing are left out. */
export function subtractCounts(counts: Record<string, number>, less: Record<string, number>): Record<string, number> {
  const left = Object.entries(counts).map(([key, count]) => [key, count - (less[key] ?? 0)] as const)
  return Object.fromEntries(left.filter(([, count]) => count !== 0))
}

export function sum<Item>(items: readonly Item[], numberOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + numberOf(item), 0)
}
