/** What a source has to give, and what the spec wants of it. */
export interface Supply {
  /** Distinct prompts that passed the filters. */
  available: number
  weight?: number
  limit?: number
  share?: number
}

/**
 * How many prompts each source gives. `limit` and `share` bound every source; sources without a weight give all of that.
 * With a target, weighted sources fill up what the others leave of it, by weight, and what one of them lacks falls to the
 * rest; without one they give as much as keeps their proportions. When the unweighted alone pass the target, all of them
 * give in proportion.
 */
export function drawAmounts(supplies: readonly Supply[], target?: number): number[] {
  const caps = supplies.map(capOf)
  const isWeighted = supplies.map((supply) => supply.weight !== undefined)
  const fixed = caps.map((cap, n) => (isWeighted[n] ? 0 : cap))
  const fixedTotal = sum(fixed)
  if (target !== undefined && fixedTotal >= target) return apportion(target, fixed, fixed)
  const weights = supplies.map((supply) => supply.weight ?? 0)
  const weightedCaps = caps.map((cap, n) => (isWeighted[n] ? cap : 0))
  const weightedTotal = target === undefined ? proportionalTotal(weights, weightedCaps) : target - fixedTotal
  return apportion(weightedTotal, weights, weightedCaps).map((amount, n) => amount + (fixed[n] ?? 0))
}

function capOf({ available, limit, share }: Supply): number {
  const shared = share === undefined ? available : Math.round(available * share)
  return Math.min(shared, limit ?? available)
}

/** The most that can be drawn before the scarcest source breaks the proportions. */
function proportionalTotal(weights: readonly number[], caps: readonly number[]): number {
  const totalWeight = sum(weights)
  if (totalWeight === 0) return 0
  const totals = weights.flatMap((weight, n) => (weight > 0 ? [((caps[n] ?? 0) * totalWeight) / weight] : []))
  return Math.floor(Math.min(...totals))
}

/**
 * Splits a total by weight into whole numbers, none above its cap. What a capped one can't take is split among the rest;
 * left-over units go to the largest remainders, the earlier source first.
 */
export function apportion(total: number, weights: readonly number[], caps: readonly number[]): number[] {
  const amounts = weights.map(() => 0)
  let open = weights.flatMap((weight, n) => (weight > 0 ? [n] : []))
  let left = Math.min(total, sum(open.map((n) => caps[n] ?? 0)))
  for (let hasCapped = true; hasCapped && open.length > 0; ) {
    const openWeight = sum(open.map((n) => weights[n] ?? 0))
    const capped = open.filter((n) => (left * (weights[n] ?? 0)) / openWeight >= (caps[n] ?? 0))
    for (const n of capped) amounts[n] = caps[n] ?? 0
    left -= sum(capped.map((n) => caps[n] ?? 0))
    open = open.filter((n) => !capped.includes(n))
    hasCapped = capped.length > 0
  }
  const openWeight = sum(open.map((n) => weights[n] ?? 0))
  const exact = open.map((n) => ({ n, share: (left * (weights[n] ?? 0)) / openWeight }))
  for (const { n, share } of exact) amounts[n] = Math.floor(share)
  const units = left - sum(exact.map(({ share }) => Math.floor(share)))
  const byRemainder = exact.sort((a, b) => (b.share % 1) - (a.share % 1) || a.n - b.n)
  for (const { n } of byRemainder.slice(0, units)) amounts[n] = (amounts[n] ?? 0) + 1
  return amounts
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
