import { BadFile } from './bad-file.ts'
import { type ByteReader, peek } from './byte-reader.ts'
import { cutArrow } from './columns/cut-arrow.ts'
import { decompressed } from './compression/decompress.ts'
import { detectFormat, type Format, headBytes } from './detect-format.ts'
import type { Piece } from './pieces.ts'
import type { SourceFile } from './places/source-file.ts'
import { type CutOptions, cutText } from './text/cut-text.ts'
import { LineFinder } from './text/row-finder.ts'
import { ValueFinder } from './text/value-finder.ts'

export interface CutFileOptions extends CutOptions {
  readonly format: Format | 'auto'
}

/** Cuts a file of any format into pieces that threads can work on. Throws `BadFile` for what can't be read. */
export async function* cutFile(file: SourceFile, options: CutFileOptions): AsyncGenerator<Piece> {
  const raw = await file.open()
  try {
    const { head, reader } = await peek(await decompressed(raw), headBytes)
    const format = options.format === 'auto' ? detectFormat(head, file.name) : options.format
    if (head.length === 0) throw new BadFile('empty', 'no bytes at all')
    yield* cutters[format]({ file, reader, head, options })
  } catch (error) {
    throw error instanceof BadFile ? error.in(file.uri) : error
  } finally {
    await raw.close()
  }
}

interface Opened {
  file: SourceFile
  reader: ByteReader
  head: Buffer
  options: CutFileOptions
}

// What only some formats need is loaded when the first of them is met.
const cutters: Readonly<Record<Format, (opened: Opened) => AsyncGenerator<Piece>>> = {
  async *jsonl({ reader, options }) {
    for await (const block of cutText(reader, new LineFinder(), options)) yield { ...block, kind: 'json' }
  },
  async *json({ reader, head, options }) {
    const isArray = /^(\ufeff)?\s*\[/.test(head.toString('utf8'))
    for await (const block of cutText(reader, new ValueFinder(isArray), options)) yield { ...block, kind: 'json' }
  },
  csv: (opened) => csvPieces(opened, ','),
  tsv: (opened) => csvPieces(opened, '\t'),
  async *parquet({ file }) {
    yield* (await import('./columns/cut-parquet.ts')).cutParquet(file)
  },
  arrow: ({ file }) => cutArrow(file),
}

async function* csvPieces({ reader, options }: Opened, delimiter: string): AsyncGenerator<Piece> {
  yield* (await import('./text/cut-csv.ts')).cutCsv(reader, delimiter, options)
}
