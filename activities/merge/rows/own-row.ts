import { BadRow } from '../errors.ts'
import { provenanceStart, type RowProvenance } from './provenance.ts'

export interface OwnRowFacts {
  promptId: string | null
  source: string | null
  tokens: number
}

/** Facts of a row that Longhaul wrote, from its end alone. Throws `BadRow`. */
export function ownFactsOf(line: Buffer, number: number): OwnRowFacts {
  const start = line.lastIndexOf(provenanceStart)
  try {
    const end = JSON.parse(`{${line.toString('utf8', start < 0 ? 0 : start + 1)}`) as {
      promptId: string | null
      provenance: RowProvenance
    }
    return { promptId: end.promptId, source: end.provenance.source, tokens: end.provenance.tokens ?? 0 }
  } catch (error) {
    throw new BadRow(number, `does not end with its provenance (${(error as Error).message})`)
  }
}
