import { apportion } from './blend.ts'

/** Training rows of a source on each side. */
export interface SideRows {
  old: number
  new: number
}

export interface DrawOptions {
  /** Most rows of a source; `*` stands for every source that is not named. */
  caps?: Readonly<Record<string, number>>
  /** Share of new rows in all. */
  newShare?: number
}

/** How many rows of each source and side stay, and why others do not. */
export interface DrawnRows {
  kept: SideRows[]
  /** Left out because of the source's cap, and then because of the share. */
  overCap: SideRows[]
  overShare: SideRows[]
}

/** Decides how many rows of each source are kept. Caps come first; then the side that has too many rows gives some up. */
export function drawRows(names: readonly string[], rows: readonly SideRows[], options: DrawOptions): DrawnRows {
  const capped = rows.map((sides, n) => cappedAt(sides, capOf(names[n] ?? '', options.caps)))
  const kept = options.newShare === undefined ? capped : mixed(capped, options.newShare)
  return {
    kept,
    overCap: rows.map((sides, n) => less(sides, capped[n])),
    overShare: capped.map((sides, n) => less(sides, kept[n])),
  }
}

function capOf(name: string, caps: DrawOptions['caps'] = {}): number {
  const cap = Object.hasOwn(caps, name) ? caps[name] : caps['*']
  return cap ?? Number.POSITIVE_INFINITY
}

/** Old and new rows of a source give way to its cap alike. */
function cappedAt(sides: SideRows, cap: number): SideRows {
  if (sides.old + sides.new <= cap) return sides
  const [old = 0, fresh = 0] = apportion(cap, [sides.old, sides.new], [sides.old, sides.new])
  return { old, new: fresh }
}

function mixed(rows: readonly SideRows[], newShare: number): SideRows[] {
  const olds = rows.map((sides) => sides.old)
  const news = rows.map((sides) => sides.new)
  const oldTotal = sum(olds)
  const newTotal = sum(news)
  if (oldTotal === 0 || newTotal === 0) return [...rows]
  const newWanted = Math.floor((oldTotal * newShare) / (1 - newShare))
  if (newWanted < newTotal) {
    const kept = apportion(newWanted, news, news)
    return rows.map((sides, n) => ({ ...sides, new: kept[n] ?? 0 }))
  }
  const oldWanted = Math.floor((newTotal * (1 - newShare)) / newShare)
  const kept = apportion(Math.min(oldWanted, oldTotal), olds, olds)
  return rows.map((sides, n) => ({ ...sides, old: kept[n] ?? 0 }))
}

function less(from: SideRows, kept: SideRows = { old: 0, new: 0 }): SideRows {
  return { old: from.old - kept.old, new: from.new - kept.new }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
