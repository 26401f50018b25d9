import type { DatasetManifest } from '../../../domain/dataset.ts'
import { leftOut } from '../../../domain/left-out.ts'
import type { TokenizedManifest } from '../../../domain/tokenized.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { CountsDisagree } from '../../merge/errors.ts'
import type { ReadVersion } from '../../merge/versions/read-version.ts'
import { GateClosed } from '../errors.ts'
import type { PlanFile } from '../plan/plan-file.ts'
import { hasAdjacentSupervised } from '../rows/token-row.ts'
import { type OrderedTokens, type Side, TokenShuffle } from '../tokens/shuffle-tokens.ts'
import type { PackedRow } from '../units/packed-rows.ts'
import type { MakeVersionDeps } from './make-version.ts'
import { type MadeUnit, packedRowsOf } from './read-units.ts'
import { readVersionRows } from './read-version-rows.ts'

export interface CollectInputs {
  readonly store: ObjectStore
  readonly plan: PlanFile
  readonly units: readonly MadeUnit[]
  readonly base: ReadVersion | undefined
  readonly folder: string
}

/** Brings the rows of the current version and the new ones into one order. Throws `GateClosed` and `CountsDisagree`. */
export async function collectRows(
  { store, plan, units, base, folder }: CollectInputs,
  deps: MakeVersionDeps,
): Promise<OrderedTokens> {
  const { options, model } = plan
  const old = options.existing === 'merge' ? base : undefined
  const newRows = units.reduce((sum, { record }) => sum + record.rows, 0)
  const ofRows = newRows + (old?.manifest.rows ?? 0)
  const shuffle = new TokenShuffle(folder, options, deps.sizes)
  const judge = new RowJudge(model.idLimit)
  let rows = 0
  const take = (side: Side, packed: Buffer) => {
    deps.signal.throwIfAborted()
    shuffle.add(side, packed, (row) => {
      judge.look(side, row)
      rows++
    })
    deps.onProgress({ phase: 'reading', rows, ofRows })
  }
  if (old) for await (const { packed } of readVersionRows(store, old, { ...deps, scratch: folder })) take('old', packed)
  for (const unit of units) for await (const packed of packedRowsOf(store, unit, deps.signal)) take('new', packed)
  const findings = judge.findings(options.tolerate.too_few_supervised ?? leftOut.too_few_supervised.tolerated)
  if (findings.length > 0) throw new GateClosed(store.uri, findings)
  deps.onProgress({ phase: 'ordering', rows, ofRows })
  const ordered = shuffle.order(deps.signal)
  checkCounts(ordered, old, newRows)
  return ordered
}

/** What was read is what the records said there was. */
function checkCounts({ counts }: OrderedTokens, old: ReadVersion | undefined, newRows: number): void {
  const manifest = old?.manifest as (Partial<TokenizedManifest> & DatasetManifest) | undefined
  const rowCounts = {
    ...{ old: counts.old.rows, new: counts.new.rows, duplicates: counts.duplicates.rows },
    ...{ dropped: 0, merged: counts.merged.rows },
  }
  const oldRows = manifest?.rows ?? 0
  const oldTokens = manifest?.tokenized?.counts.merged.tokens ?? counts.old.tokens
  if (counts.old.rows !== oldRows || counts.old.tokens !== oldTokens) {
    throw new CountsDisagree(`version ${manifest?.version} (${oldRows} rows, ${oldTokens} tokens)`, rowCounts)
  }
  if (counts.new.rows !== newRows) throw new CountsDisagree(`the tokenized units (${newRows} rows)`, rowCounts)
}

/** Looks at every row that is to be in the version, wherever it comes from. */
class RowJudge {
  readonly #rows: Record<Side, number> = { old: 0, new: 0 }
  readonly #empty: Record<Side, number> = { old: 0, new: 0 }
  readonly #strange: Record<Side, number> = { old: 0, new: 0 }
  #stranger: number | undefined

  constructor(private readonly idLimit: number) {}

  look(side: Side, row: PackedRow): void {
    this.#rows[side]++
    if (!hasAdjacentSupervised(row.spans)) this.#empty[side]++
    for (const id of row.ids) {
      if (id >= 0 && id < this.idLimit) continue
      this.#stranger ??= id
      this.#strange[side]++
      break
    }
  }

  findings(toleratedEmpty: number): string[] {
    const findings: string[] = []
    const of = { old: 'of the current version', new: 'that were tokenized' } as const
    for (const side of ['old', 'new'] as const) {
      if (this.#strange[side] > 0) {
        findings.push(
          `${this.#strange[side]} rows ${of[side]} have ids that the tokenizer does not know, such as ${this.#stranger} (it has ${this.idLimit}): they are of another one`,
        )
      }
      const tolerated = side === 'new' ? 0 : toleratedEmpty * this.#rows.old
      if (this.#empty[side] > tolerated) {
        findings.push(`${this.#empty[side]} rows ${of[side]} have no two adjacent supervised tokens`)
      }
    }
    return findings
  }
}
