import type { Supply } from '../../domain/blend.ts'
import type { SourceAccount } from '../../domain/plan.ts'
import type { Spec } from '../../domain/spec.ts'
import type { OrderedRange } from '../../shuffle/ordered-range.ts'
import type { PieceCounts } from './scan-batch.ts'
import type { ScannedSources } from './scan-sources.ts'
import type { NumberedFile } from './source-list.ts'

/** A source's rows do not add up: a mistake in Longhaul, which must not reach a plan. */
export class AccountsDoNotAddUp extends Error {
  override readonly name = 'AccountsDoNotAddUp'
  constructor(readonly account: SourceAccount) {
    super(`The rows of source ${account.name} do not add up: ${JSON.stringify({ ...account, files: undefined })}`)
  }
}

/** Books what became of every row. */
export class Accounts {
  readonly sources: SourceAccount[]
  readonly #available: number[]
  readonly #sourceOf: number[]

  constructor(
    readonly spec: Spec,
    files: readonly NumberedFile[],
    { batches, givenUp }: ScannedSources,
  ) {
    this.#sourceOf = files.map(({ source }) => source)
    this.#available = spec.sources.map(() => 0)
    const rowsOf = files.map(() => 0)
    this.sources = spec.sources.map(({ name }) => emptyAccount(name))
    for (const piece of batches.flatMap(({ pieces }) => pieces)) {
      if (givenUp.has(piece.file)) continue
      addPiece(this.#accountOf(piece.file), piece)
      rowsOf[piece.file] = (rowsOf[piece.file] ?? 0) + piece.read
    }
    for (const { number, uri, bytes } of files) {
      const account = this.#accountOf(number)
      const why = givenUp.get(number)
      if (why === undefined) account.files.push({ uri, bytes: bytes ?? null, rows: rowsOf[number] ?? 0 })
      else account.skippedFiles.push({ uri, why })
    }
  }

  /** Books duplicates: `exact` are the ranges without exact ones, `distinct` those without near ones too. */
  addOrdered(exact: readonly OrderedRange[], distinct: readonly OrderedRange[]): void {
    for (const { duplicates } of exact) {
      for (const [file, rows] of Object.entries(duplicates)) this.#accountOf(Number(file)).nearDuplicates -= rows
    }
    for (const { kept, duplicates } of distinct) {
      for (const [file, rows] of Object.entries(duplicates)) {
        const account = this.#accountOf(Number(file))
        account.duplicates += rows
        account.nearDuplicates += rows
      }
      for (const [file, rows] of Object.entries(kept)) {
        const source = this.#sourceOf[Number(file)] ?? 0
        this.#available[source] = this.available(source) + rows
      }
    }
  }

  /** Distinct prompts that a source has to give. */
  available(source: number): number {
    return this.#available[source] ?? 0
  }

  supplies(): Supply[] {
    return this.spec.sources.map(({ weight, limit, share }, n) => ({
      available: this.available(n),
      weight,
      limit,
      share,
    }))
  }

  addDrawn(amounts: readonly number[]): void {
    this.sources.forEach((account, n) => {
      account.prompts = amounts[n] ?? 0
      account.notDrawn = this.available(n) - account.prompts
      const spoken =
        total(account.rejected) + total(account.filtered) + account.duplicates + account.notDrawn + account.prompts
      if (spoken !== account.read) throw new AccountsDoNotAddUp(account)
    })
  }

  #accountOf(file: number): SourceAccount {
    const account = this.sources[this.#sourceOf[file] ?? -1]
    if (!account) throw new Error(`No source has file ${file}`)
    return account
  }
}

function emptyAccount(name: string): SourceAccount {
  return {
    name,
    read: 0,
    rejected: {},
    filtered: {},
    duplicates: 0,
    nearDuplicates: 0,
    notDrawn: 0,
    prompts: 0,
    notes: {},
    schemas: {},
    files: [],
    skippedFiles: [],
  }
}

function addPiece(account: SourceAccount, piece: PieceCounts): void {
  account.read += piece.read
  addCounts(account.rejected, piece.rejected)
  addCounts(account.filtered, piece.filtered)
  addCounts(account.notes, piece.notes)
  addCounts(account.schemas, piece.schemas)
}

function addCounts(to: Record<string, number>, from: Record<string, number>): void {
  for (const [key, count] of Object.entries(from)) to[key] = (to[key] ?? 0) + count
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
