import type { RawSample } from './raw-sample.ts'

/**
 * What a row says of where it comes from, in the column `provenance`. Every row has every key, so that all rows have the
 * same type; what is not known is null.
 */
export interface RowProvenance {
  /** The run that generated it; null: it was there before. */
  run: string | null
  /** Version of the dataset that a row of no run was found in. */
  version: number | null
  /** File and row (from 1) that it was read from: of the prompt's source, or of that version. */
  file: string
  row: number
  /** The row's source: of the spec, or what its own column says. */
  source: string | null
  /** Id and licence of the prompt's row, and what it said of its own origin. */
  id: string | null
  license: string | null
  origin: string | null
  model: string | null
  weightVersion: string | null
  truncated: boolean | null
  /** Of the whole conversation as the engine counted them. */
  tokens: number | null
}

export function provenanceOfOld(version: number, file: string, row: number, source: string | null): RowProvenance {
  return {
    ...{ run: null, version, file, row, source, id: null, license: null, origin: null },
    ...{ model: null, weightVersion: null, truncated: null, tokens: null },
  }
}

export function provenanceOfSample(sample: RawSample, run: string): RowProvenance {
  const { source, provenance, model, weightVersion, truncated, tokens } = sample
  const { file, row, id = null, license = null, origin = null } = provenance
  return { run, version: null, file, row, source, id, license, origin, model, weightVersion, truncated, tokens }
}

/** The columns that the end of each row has. `promptId` is null for rows without a conversation. */
export function provenanceJson(promptId: string | null, provenance: RowProvenance): string {
  return `"promptId":${promptId === null ? 'null' : `"${promptId}"`},"provenance":${JSON.stringify(provenance)}`
}

/** How the end of a row begins. Quotes inside of texts are escaped, so this is found nowhere else. */
export const provenanceStart = ',"promptId":'

/** Names of the columns that the end of each row has. */
export const provenanceColumns: readonly string[] = ['promptId', 'provenance']
