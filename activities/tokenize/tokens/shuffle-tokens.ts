import { createHash } from 'node:crypto'
import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import type { RowsAndTokens, TokenCounts } from '../../../domain/tokenized.ts'
import { fateOf, id128 } from '../../../shuffle/digest.ts'
import { entryAt, entryBytes, sortedPositions } from '../../../shuffle/entry.ts'
import { type GatheredRows, gatherRows } from '../../../shuffle/gather-rows.ts'
import { hasSameId, idEntryAt, idEntryBytes, loadIdEntries, sortedIdPositions } from '../../../shuffle/id-index.ts'
import { loadEntries, writePlace } from '../../../shuffle/order-rows.ts'
import { type OrderedRange, RangeWriter } from '../../../shuffle/ordered-range.ts'
import { type Spill, SpillWriter } from '../../../shuffle/spill-writer.ts'
import { stepCount } from '../../../shuffle/steps.ts'
import { type PackedRow, packedRows } from '../units/packed-rows.ts'

/** What bounds the memory of the shuffle. None of them shows in its result. */
export interface ShuffleSizes {
  /** Rows that are held before they are written out. */
  readonly spillBytes: number
  /** Rows that are put into their final order in one go. */
  readonly sliceBytes: number
  /** Entries (56 bytes) that are sorted in one go. */
  readonly rangeRows: number
}

/** Rows of the current version come before new ones. */
const sides = { old: 0, new: 1 } as const
export type Side = keyof typeof sides

/**
 * Shuffles rows of tokens that do not fit into memory: they are spilled as they come, and read again in their final order.
 * Of prompts that both sides have, one side's rows give way.
 */
export class TokenShuffle {
  readonly #spills: SpillWriter
  readonly #added: Record<Side, RowsAndTokens> = { old: none(), new: none() }
  #rows = 0

  constructor(
    private readonly folder: string,
    private readonly options: Pick<TokenizeOptions, 'seed' | 'duplicates'>,
    private readonly sizes: ShuffleSizes,
  ) {
    this.#spills = new SpillWriter(folder, 'tokens', options.seed, sizes.spillBytes, true)
  }

  /** Adds packed rows. Calls with each before it is taken. */
  add(side: Side, packed: Buffer, onRow: (row: PackedRow) => void): void {
    for (const row of packedRows(packed)) {
      onRow(row)
      const { start } = row
      const id = idOf(row)
      const tokens = row.idCount
      this.#added[side].rows++
      this.#added[side].tokens += tokens
      const key = { id, group: sides[side], row: this.#rows++, weight: tokens, tag: tokens }
      // Rows of one prompt are told apart by what they are, so that they do not end up side by side.
      const fate = fateOf(this.options.seed, `${id}/${tokens}/${row.firstSupervised}`)
      this.#spills.addPieces(key, packed, [{ start, end: start + row.length }], fate)
    }
  }

  /** Puts all rows into their order. */
  order(signal: AbortSignal): OrderedTokens {
    const spills = this.#spills.finish()
    const drops = findDrops(this.folder, spills, this.#rows, this.options.duplicates, signal)
    const count = Math.min(stepCount, Math.max(1, Math.ceil(this.#rows / this.sizes.rangeRows)))
    const ranges: OrderedRange[] = []
    for (let n = 0; n < count; n++) {
      signal.throwIfAborted()
      const [fromStep, toStep] = [n, n + 1].map((at) => Math.floor((at * stepCount) / count))
      ranges.push(orderRange(this.folder, spills, { fromStep: fromStep ?? 0, toStep: toStep ?? 0 }, drops, this.sizes))
    }
    const [old, fresh] = [this.#added.old, this.#added.new]
    const duplicates = drops.dropped
    const merged = {
      rows: old.rows + fresh.rows - duplicates.rows,
      tokens: old.tokens + fresh.tokens - duplicates.tokens,
    }
    return new OrderedTokens(this.folder, spills, ranges, { old, new: fresh, duplicates, merged }, drops.newRows)
  }
}

/** Rows in their final order. */
export class OrderedTokens {
  constructor(
    private readonly folder: string,
    private readonly spills: readonly Spill[],
    private readonly ranges: readonly OrderedRange[],
    readonly counts: TokenCounts,
    /** New rows that gave way. */
    readonly droppedNewRows: number,
  ) {}

  /** Bytes of all rows as they were packed. */
  get bytes(): number {
    return this.ranges.reduce((sum, { slices }) => sum + slices.reduce((all, slice) => all + slice.bytes, 0), 0)
  }

  /** The rows, a slice at a time. */
  *slices(): Generator<GatheredRows> {
    for (const { name, slices } of this.ranges) {
      let firstPlace = 0
      for (const { places } of slices) {
        yield gatherRows({
          ...{ folder: this.folder, spills: this.spills, range: name, firstPlace, places },
          limits: new Map(),
        })
        firstPlace += places
      }
    }
  }
}

function none(): RowsAndTokens {
  return { rows: 0, tokens: 0 }
}

const isHashed = /^[0-9a-f]{32}$/

/** Of the prompt; rows that were adopted without one are known by their ids. */
function idOf(row: PackedRow): string {
  const { promptId } = row
  if (isHashed.test(promptId)) return promptId
  return promptId === '' ? createHash('sha256').update(row.idBytes).digest('hex').slice(0, 32) : id128(promptId)
}

interface Drops {
  /** A bit per row, by its number. */
  readonly bits: Uint8Array
  readonly dropped: RowsAndTokens
  readonly newRows: number
}

/** Rows of the id space that are looked through in one go, about. */
const idRangeRows = 1_000_000

/** Of prompts that both sides have, the rows of the side that is to give way. */
function findDrops(
  folder: string,
  spills: readonly Spill[],
  rows: number,
  policy: TokenizeOptions['duplicates'],
  signal: AbortSignal,
): Drops {
  const bits = new Uint8Array(Math.ceil(rows / 8))
  const dropped = none()
  if (policy === 'keepBoth') return { bits, dropped, newRows: 0 }
  const losing = policy === 'keepOld' ? sides.new : sides.old
  const count = Math.min(stepCount, Math.max(1, Math.ceil(rows / idRangeRows)))
  for (let range = 0; range < count; range++) {
    signal.throwIfAborted()
    const [fromStep = 0, toStep = 0] = [range, range + 1].map((at) => Math.floor((at * stepCount) / count))
    for (const { row, tokens } of rowsGivingWay(loadIdEntries(folder, spills, fromStep, toStep).entries, losing)) {
      bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
      dropped.rows++
      dropped.tokens += tokens
    }
  }
  return { bits, dropped, newRows: losing === sides.new ? dropped.rows : 0 }
}

/** Rows of one side are never duplicates of one another: they are the parts of a prompt, or were meant. */
function* rowsGivingWay(entries: Buffer, losing: number): Generator<{ row: number; tokens: number }> {
  const positions = sortedIdPositions(entries)
  for (let first = 0, next = 0; first < positions.length; first = next) {
    const firstAt = (positions[first] ?? 0) * idEntryBytes
    next = first + 1
    while (next < positions.length && hasSameId(entries, firstAt, (positions[next] ?? 0) * idEntryBytes)) next++
    const places = Array.from(positions.subarray(first, next), (position) => position * idEntryBytes)
    const losers = places.filter((at) => entries.readUInt32BE(at + idEntryAt.group) === losing)
    if (losers.length === places.length) continue
    for (const at of losers) {
      yield { row: entries.readUInt32BE(at + idEntryAt.row), tokens: entries.readUInt32BE(at + idEntryAt.tag) }
    }
  }
}

/** Sorts the rows that stay of a part of the key space, and writes their order to disk. */
function orderRange(
  folder: string,
  spills: readonly Spill[],
  { fromStep, toStep }: { fromStep: number; toStep: number },
  { bits }: Drops,
  { sliceBytes }: ShuffleSizes,
): OrderedRange {
  const { entries, spillOf } = loadEntries({ folder, spills, fromStep, toStep })
  const range = new RangeWriter(spillOf.length, sliceBytes)
  for (const position of sortedPositions(entries)) {
    const at = position * entryBytes
    const row = entries.readUInt32BE(at + entryAt.row)
    if ((((bits[row >>> 3] ?? 0) >>> (row & 7)) & 1) === 1) continue
    range.add(entries.readUInt32BE(at + entryAt.group), entries.readUInt32BE(at + entryAt.length), (order, place) =>
      writePlace(order, place, entries, at, spillOf[position] ?? 0),
    )
  }
  return range.write(folder, `order-${String(fromStep).padStart(4, '0')}`, {})
}
