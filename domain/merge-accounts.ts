import type { MergeCounts, RowCounts } from './dataset.ts'

type Side = 'old' | 'new'

/** Rows of one source, by what became of them. */
interface Account extends RowCounts {
  /** Training rows that are left of each side, at the point that the books have got to. */
  left: Record<Side, number>
}

const mostSources = 5_000
const otherSources = '(other sources)'

/** Books what becomes of every row of a merge, by source. Sources are known by their numbers in `names`. */
export class MergeAccounts {
  readonly names: string[] = []
  readonly #numbers = new Map<string, number>()
  readonly #accounts: Account[] = []
  readonly #reasons: Record<string, number> = {}
  readonly #gaveWay: Record<Side, number> = { old: 0, new: 0 }

  /** Number of a source; equal names have equal numbers. */
  numberOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    // A column that says something else in each row names no sources: what comes late shares one number.
    if (this.names.length > mostSources && name !== otherSources) return this.numberOf(otherSources)
    const number = this.names.length
    this.names.push(name)
    this.#numbers.set(name, number)
    this.#accounts.push({ ...noRows(), left: { old: 0, new: 0 } })
    return number
  }

  /** Rows that were read. Of held-out ones nothing is drawn: they are old rows, and not among those left. */
  addRead(side: Side | 'heldOut', source: number, rows: number): void {
    const account = this.#accountOf(source)
    if (side === 'heldOut') {
      account.old += rows
      return
    }
    account[side] += rows
    account.left[side] += rows
  }

  addDropped(side: Side, source: number, reason: string, rows: number): void {
    if (rows === 0) return
    const account = this.#accountOf(source)
    account.dropped += rows
    account.left[side] -= rows
    this.#reasons[reason] = (this.#reasons[reason] ?? 0) + rows
  }

  addDuplicate(side: Side, source: number): void {
    const account = this.#accountOf(source)
    account.duplicates += 1
    account.left[side] -= 1
    this.#gaveWay[side] += 1
  }

  /** Rows as they were written: counted there, not here, so that the sums prove something. */
  addMerged(source: number, rows: number): void {
    this.#accountOf(source).merged += rows
  }

  /** Rows of a source and side that are left. */
  left(side: Side, source: number): number {
    return this.#accountOf(source).left[side]
  }

  /** Rows in all, so far. */
  get total(): RowCounts {
    const total = noRows()
    for (const account of this.#accounts) {
      for (const key of Object.keys(total) as (keyof RowCounts)[]) total[key] += account[key]
    }
    return total
  }

  /** The books, closed. Sources that do not add up are left to `unbalanced`. */
  close(): MergeCounts {
    const sources = this.names.map((name, n) => {
      const { left: _, ...counts } = this.#accountOf(n)
      return [name, counts] as const
    })
    return {
      ...this.total,
      gaveWay: { ...this.#gaveWay },
      reasons: { ...this.#reasons },
      sources: Object.fromEntries(sources.sort(([a], [b]) => (a < b ? -1 : 1))),
    }
  }

  #accountOf(source: number): Account {
    const account = this.#accounts[source]
    if (!account) throw new RangeError(`There is no source ${source}`)
    return account
  }
}

/** The first source (or `everything`) whose rows do not add up. */
export function unbalanced(counts: MergeCounts): { what: string; counts: RowCounts } | undefined {
  for (const [name, account] of Object.entries(counts.sources)) {
    if (!addsUp(account)) return { what: `source ${name}`, counts: account }
  }
  return addsUp(counts) ? undefined : { what: 'the merge', counts }
}

function addsUp(counts: RowCounts): boolean {
  return counts.old + counts.new === counts.duplicates + counts.dropped + counts.merged
}

function noRows(): RowCounts {
  return { old: 0, new: 0, duplicates: 0, dropped: 0, merged: 0 }
}
