import type { Column } from '../../../domain/columns.ts'
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

/** What the end of a row that was in the dataset says. Written by hand: there is one for each of a million rows. */
export function endOfOld(
  promptId: string | null,
  version: number,
  file: string,
  row: number,
  source: string | null,
): string {
  return (
    `"promptId":${promptId === null ? 'null' : `"${promptId}"`},"provenance":{"run":null,"version":${version},` +
    `"file":${JSON.stringify(file)},"row":${row},"source":${source === null ? 'null' : JSON.stringify(source)},` +
    '"id":null,"license":null,"origin":null,"model":null,"weightVersion":null,"truncated":null,"tokens":null}'
  )
}

export function endOfSample(sample: RawSample, run: string): string {
  const { promptId, source, provenance, model, weightVersion, truncated, tokens } = sample
  const { file, row, id = null, license = null, origin = null } = provenance
  const said: RowProvenance = {
    ...{ run, version: null, file, row, source, id, license, origin },
    ...{ model, weightVersion, truncated, tokens },
  }
  return `"promptId":"${promptId}","provenance":${JSON.stringify(said)}`
}

/** How the end of a row begins. Quotes inside of texts are escaped, so this is found nowhere else. */
export const provenanceStart = ',"promptId":'

/** The columns that the end of each row has. */
export const provenanceColumns: readonly Column[] = [
  { name: 'promptId', type: { kind: 'string' } },
  {
    name: 'provenance',
    type: {
      kind: 'struct',
      fields: [
        text('run'),
        int('version'),
        text('file'),
        int('row'),
        text('source'),
        text('id'),
        text('license'),
        text('origin'),
        text('model'),
        text('weightVersion'),
        { name: 'truncated', type: { kind: 'bool' } },
        int('tokens'),
      ],
    },
  },
]

export function isProvenance(column: string): boolean {
  return provenanceColumns.some(({ name }) => name === column)
}

function text(name: string): Column {
  return { name, type: { kind: 'string' } }
}

function int(name: string): Column {
  return { name, type: { kind: 'int', bits: 64 } }
}
