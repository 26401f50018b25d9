import { isUtf8 } from 'node:buffer'
import { trainSplit } from '../../../domain/splits.ts'
import { newSketch, observe, type TypeSketch } from '../../../domain/type-sketch.ts'
import type { Row } from '../../../formats/conversation/row.ts'
import type { JsonPiece } from '../../../formats/pieces.ts'
import { forEachSpan, isBlankSpan } from '../../../formats/text/spans.ts'
import { fateOf } from '../../../shuffle/digest.ts'
import type { SpillWriter } from '../../../shuffle/spill-writer.ts'
import { BadRow } from '../errors.ts'
import { objectionTo } from '../rows/judge-sample.ts'
import { oldRowReader } from '../rows/old-row.ts'
import { ownFactsOf } from '../rows/own-row.ts'
import { provenanceJson, provenanceOfOld, provenanceOfSample } from '../rows/provenance.ts'
import { parseSample } from '../rows/read-sample.ts'
import { sampleRowWriter } from '../rows/sample-row.ts'
import { countAt, SourceTable, unnamedSource } from '../rows/source-table.ts'
import type { MergeContext, MergeFile, NumberedPiece, ReadSide, ScannedBatch } from './merge-task-types.ts'

/** Reads the rows of pieces, judges them, and spills those that may stay under the keys that decide their fate. */
export function batchScanner(context: MergeContext, spills: SpillWriter) {
  const { options, files, shape, columns, baseVersion, run, hasProvenance } = context
  const factsOf = oldRowReader(options.mapping)
  const rowOf = sampleRowWriter(shape, columns)

  return function scanBatch(batch: number, pieces: readonly NumberedPiece[]): ScannedBatch {
    spills.begin(`batch-${String(batch).padStart(6, '0')}`)
    const books = new Books()
    for (const { file: number, piece } of pieces) {
      const file = files[number]
      if (!file) throw new Error(`There is no file ${number}`)
      if (piece.kind !== 'json') throw new Error(`${piece.kind} is not read yet`)
      const scan = file.side === 'new' ? scanSample : file.isOwn ? scanOwn : scanOld
      try {
        forEachLine(piece, (line, row) => scan(line, { file, number, row }, books))
      } catch (error) {
        if (!(error instanceof BadRow)) throw error
        // Said and not thrown: what an error is gets lost between threads.
        return { ...books.close(spills), bad: { file: number, row: error.row, problem: error.problem } }
      }
    }
    return books.close(spills)
  }

  function scanOld(line: Buffer, { file, number, row }: RowPlace, books: Books): void {
    const parsed = parseRow(line, row)
    observe(books.sketch, parsed)
    const { promptId, source } = factsOf(parsed)
    const tag = books.read(readSide(file), source)
    const end = hasProvenance ? ending(parsed, promptId, provenanceOfOld(baseVersion, file.name, row, source)) : '}\n'
    spills.addBytes(keyOf(promptId, number, row, 0, tag), withoutEnd(line), end, fate(number, row))
  }

  /** The end of a row says all that there is to know: the rest need not be parsed. */
  function scanOwn(line: Buffer, { file, number, row }: RowPlace, books: Books): void {
    const { promptId, source, tokens } = ownFactsOf(line, row)
    const tag = books.read(readSide(file), source)
    spills.addBytes(keyOf(promptId, number, row, tokens, tag), line, '\n', fate(number, row))
  }

  function scanSample(line: Buffer, { number, row }: RowPlace, books: Books): void {
    const sample = parseSample(line)
    const tag = books.read('new', sample.source)
    const text = rowOf(sample)
    const objection = objectionTo(sample, options) ?? (text === undefined ? 'unfit' : undefined)
    if (objection || text === undefined) {
      books.drop(objection ?? 'unfit', tag)
      return
    }
    observe(books.sketch, JSON.parse(text))
    const provenance = provenanceOfSample(sample, run)
    const end = hasProvenance ? `,${provenanceJson(sample.promptId, provenance)}}\n` : '}\n'
    const key = keyOf(sample.promptId, number, row, provenance.tokens ?? 0, tag)
    spills.add(key, `${text.slice(0, -1)}${end}`, fate(number, row))
  }

  /** By place, so that rows with the same conversation do not end up side by side. */
  function fate(file: number, row: number): string {
    if (options.order === 'shuffle') return fateOf(options.seed, `${file}:${row}`)
    return (
      file.toString(16).padStart(8, '0') + row.toString(16).padStart(8, '0') + fateOf(options.seed, `${file}:${row}`)
    )
  }
}

function readSide({ side, split }: MergeFile): ReadSide {
  return side === 'old' && split !== trainSplit ? 'heldOut' : side
}

interface RowPlace {
  file: MergeFile
  number: number
  row: number
}

function keyOf(promptId: string | null, group: number, row: number, weight: number, tag: number) {
  return { id: promptId ?? placeId(group, row), group, row, weight, tag }
}

/** Rows without a conversation are duplicates of nothing. */
function placeId(group: number, row: number): string {
  return fateOf('place', `${group}:${row}`).slice(0, 32)
}

const closingBrace = 125

/** The row without its closing brace and what may follow it. */
function withoutEnd(line: Buffer): Buffer {
  return line.subarray(0, line.lastIndexOf(closingBrace))
}

function ending(row: Row, promptId: string | null, provenance: ReturnType<typeof provenanceOfOld>): string {
  const isEmpty = Object.keys(row).length === 0
  return `${isEmpty ? '' : ','}${provenanceJson(promptId, provenance)}}\n`
}

function forEachLine(piece: JsonPiece, visit: (line: Buffer, row: number) => void): void {
  const bytes = Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.length)
  if (piece.isCut) throw new BadRow(piece.firstRow, 'is longer than a row may be')
  const isAllUtf8 = isUtf8(bytes)
  forEachSpan(piece.spans, (start, end, n) => {
    if (isBlankSpan(bytes, start, end)) return
    const line = bytes.subarray(start, end)
    if (!isAllUtf8 && !isUtf8(line)) throw new BadRow(piece.firstRow + n, 'is not UTF-8')
    visit(line, piece.firstRow + n)
  })
}

function parseRow(line: Buffer, number: number): Row {
  let row: unknown
  try {
    row = JSON.parse(line.toString('utf8'))
  } catch (error) {
    throw new BadRow(number, `is not JSON (${(error as Error).message})`)
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new BadRow(number, 'is not a JSON object')
  return row as Row
}

/** What is to be said of a batch. */
class Books {
  readonly sketch: TypeSketch = newSketch()
  readonly #sources = new SourceTable()
  readonly #read: Record<ReadSide, number[]> = { old: [], new: [], heldOut: [] }
  readonly #dropped: Record<string, number[]> = {}

  /** Counts a row; gives the number of its source. */
  read(side: ReadSide, source: string | null): number {
    const number = this.#sources.numberOf(source ?? unnamedSource)
    countAt(this.#read[side], number)
    return number
  }

  drop(reason: string, source: number): void {
    this.#dropped[reason] ??= []
    countAt(this.#dropped[reason], source)
  }

  close(spills: SpillWriter): ScannedBatch {
    const written = spills.finish()
    return {
      spills: written,
      sources: this.#sources.names,
      read: this.#read,
      dropped: this.#dropped,
      sketch: this.sketch,
    }
  }
}
