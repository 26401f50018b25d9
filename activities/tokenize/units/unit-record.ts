import type { SourceTokens } from '../../../domain/tokenized.ts'
import { sha256Hex } from '../../../shuffle/digest.ts'
import { type PlanFile, shapingOptions, tokenizeCode, type UnitFile } from '../plan/plan-file.ts'

/** What the tokens of a unit follow from: the same facts, the same bytes. */
export interface UnitFacts {
  code: number
  tokenizerHash: string
  templateHash: string | null
  options: ReturnType<typeof shapingOptions>
  kind: PlanFile['inputs']['kind']
  shape: PlanFile['inputs']['shape'] | null
  /** SHA-256 of the input file. */
  input: string
}

/** `_work/units/<key>.json`: written after the unit's rows, so its presence says that they are whole. */
export interface UnitRecord {
  facts: UnitFacts
  rowsRead: number
  rows: number
  bytes: number
  /** SHA-256 of the rows' bytes. */
  sha256: string
  sources: Record<string, SourceTokens>
  /** SHA-256 and length of the list of rows left out. */
  leftOut: { rows: number; sha256: string }
}

export function unitFacts({ model, options, inputs }: PlanFile, { sha256 }: UnitFile): UnitFacts {
  return {
    code: tokenizeCode,
    tokenizerHash: model.tokenizerHash,
    templateHash: model.templateHash ?? null,
    options: shapingOptions(options),
    kind: inputs.kind,
    shape: inputs.shape ?? null,
    input: sha256,
  }
}

export function unitKeyOf(facts: UnitFacts): string {
  return sha256Hex(JSON.stringify(facts)).slice(0, 40)
}
