import { BadFile } from '../bad-file.ts'
import type { ByteReader } from '../byte-reader.ts'
import type { CsvPiece } from '../pieces.ts'
import { RowRejected, shown } from '../row-rejected.ts'
import { type CutOptions, cutText } from './cut-text.ts'
import { parseRecord } from './decode-csv.ts'
import { RecordFinder } from './record-finder.ts'

/** Cuts CSV or TSV; the first record names the columns and counts as row 1. */
export async function* cutCsv(reader: ByteReader, delimiter: string, options: CutOptions): AsyncGenerator<CsvPiece> {
  let header: string[] | undefined
  for await (const block of cutText(reader, new RecordFinder(delimiter.charCodeAt(0)), options)) {
    if (header) {
      yield { ...block, kind: 'csv', header, delimiter }
      continue
    }
    header = headerOf(block.bytes, block.spans, delimiter)
    const rest = { ...block, spans: block.spans.slice(2), firstRow: block.firstRow + 1 }
    if (rest.spans.length > 0) yield { ...rest, kind: 'csv', header, delimiter }
  }
}

function headerOf(bytes: Uint8Array, spans: Uint32Array, delimiter: string): string[] {
  const names = namesIn(Buffer.from(bytes.subarray(spans[0], spans[1])), delimiter)
  const repeated = names.find((name, n) => names.indexOf(name) !== n)
  if (repeated !== undefined) throw new BadFile('corrupt', `its first line names the column ${shown(repeated)} twice`)
  return names
}

function namesIn(line: Buffer, delimiter: string): string[] {
  try {
    return parseRecord(line, delimiter)
  } catch (error) {
    if (error instanceof RowRejected) throw new BadFile('corrupt', `its first line names no columns: ${error.message}`)
    throw error
  }
}
