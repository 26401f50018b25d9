import { isUtf8 } from 'node:buffer'
import { trainSplit } from '../../../domain/splits.ts'
import { newSketch, observeSeen, type TypeSketch } from '../../../domain/type-sketch.ts'
import { BadFile } from '../../../formats/bad-file.ts'
import type { JsonPiece as JsonBlock, Piece } from '../../../formats/pieces.ts'
import { forEachSpan, isBlankSpan } from '../../../formats/text/spans.ts'
import { fateOf } from '../../../shuffle/digest.ts'
import type { SpillWriter } from '../../../shuffle/spill-writer.ts'
import type { CellStyle } from '../columnar/cell-text.ts'
import { readBatches } from '../columnar/read-batches.ts'
import { rowText } from '../columnar/row-text.ts'
import { BadRow } from '../errors.ts'
import { NearWriter } from '../near/near-writer.ts'
import { objectionTo } from '../rows/judge-sample.ts'
import { oldRowReader } from '../rows/old-row.ts'
import { ownFactsOf } from '../rows/own-row.ts'
import { endOfOld, endOfSample } from '../rows/provenance.ts'
import { parseRaw, type RawNode, RawSyntax } from '../rows/raw-json.ts'
import { type RawSample, readRawSample, skeletonOf } from '../rows/raw-sample.ts'
import { sampleRowWriter } from '../rows/sample-row.ts'
import { countAt, SourceTable, unnamedSource } from '../rows/source-table.ts'
import { thinRowReader } from '../rows/thin-row.ts'
import type { FlushedThread, MergeBatch, MergeContext, MergeFile, ReadSide, ScannedBatch } from './merge-task-types.ts'

/** Reads the rows of pieces, judges them, and spills those that may stay under the keys that decide their fate. */
export function batchScanner(context: MergeContext, name: string, spills: SpillWriter) {
  const { options, files, shape, columns, baseVersion, run, hasProvenance } = context
  const thinRow = thinRowReader(options.mapping)
  const factsOf = oldRowReader(options.mapping)
  const rowOf = sampleRowWriter(shape, columns)
  const style: CellStyle = { values: context.output.format === 'jsonl' ? 'plain' : 'exact' }

  const near = options.near === undefined ? undefined : new NearWriter(context.folder, name, options.near)
  const tags = new SourceTable()
  let order: RowOrder = { progress: 0, batch: 0, row: 0 }

  return { scanBatch, flush }

  async function scanBatch({ batch, progress, pieces }: MergeBatch): Promise<ScannedBatch> {
    order = { progress, batch, row: 0 }
    const books = new Books(tags)
    for (const { file: number, piece } of pieces) {
      const file = files[number]
      if (!file) throw new Error(`There is no file ${number}`)
      const scan = file.side === 'new' ? scanSample : file.isOwn ? scanOwn : scanOld
      try {
        await forEachLine(piece, style, (line, row) => scan(line, { file, number, row, piece }, books))
      } catch (error) {
        const bad = badnessOf(error)
        // Said and not thrown: what an error is gets lost between threads.
        return { ...books.close(), bad: { file: number, ...bad } }
      }
    }
    return books.close()
  }

  function flush(): FlushedThread {
    return { spills: spills.finish(), sources: tags.names, near: near?.finish() ?? [] }
  }

  function scanOld(line: Buffer, { file, number, row, piece }: RowPlace, books: Books): void {
    const node = readRow(line, row)
    // Columns have types of their own, which say more than what their values look like in JSON.
    if (piece.kind === 'json') observeSeen(books.sketch, node)
    const { promptId, source, skeleton } = factsOf(thinRow(line, node))
    const tag = books.read(readSide(file), source)
    near?.add(skeleton, { group: number, row, tag })
    const end = hasProvenance ? endOfOld(promptId, baseVersion, file.name, row, source) : ''
    const separator = end === '' || node.names?.length === 0 ? '' : ','
    const pieces = [{ start: node.start, end: node.end - 1 }, `${separator}${end}}\n`]
    spills.addPieces(keyOf(promptId, number, row, 0, tag), line, pieces, fate(number, row))
  }

  /** The end of a row says all that there is to know: the rest need not be looked at. */
  function scanOwn(line: Buffer, { file, number, row }: RowPlace, books: Books): void {
    const { promptId, source, tokens } = ownFactsOf(line, row)
    const tag = books.read(readSide(file), source)
    near?.add(factsOf(thinRow(line, readRow(line, row))).skeleton, { group: number, row, tag })
    const pieces = [{ start: 0, end: line.length }, '\n']
    spills.addPieces(keyOf(promptId, number, row, tokens, tag), line, pieces, fate(number, row))
  }

  function scanSample(line: Buffer, { number, row: rowNumber }: RowPlace, books: Books): void {
    const sample = readSample(line, rowNumber)
    const tag = books.read('new', sample.source)
    const pieces = rowOf(sample)
    const objection = objectionTo(sample, options) ?? (pieces === undefined ? 'unfit' : undefined)
    if (objection || pieces === undefined) {
      books.drop(objection ?? 'unfit', sample.source)
      return
    }
    const { promptId, tokens } = sample
    near?.add(skeletonOf(sample), { group: number, row: rowNumber, tag })
    pieces.push(hasProvenance ? `,${endOfSample(sample, run)}}\n` : '}\n')
    spills.addPieces(keyOf(promptId, number, rowNumber, tokens, tag), line, pieces, fate(number, rowNumber))
    const row = spills.lastRow
    observeSeen(books.sketch, parseRaw(row, 0, row.length))
  }

  /** By place, so that rows with the same conversation do not end up side by side. */
  function fate(file: number, row: number): string {
    const fate = fateOf(options.seed, `${file}:${row}`)
    return options.order === 'shuffle' ? fate : readingOrder(order) + fate.slice(16)
  }
}

/** Where a row comes in the order of reading. */
interface RowOrder {
  readonly progress: number
  readonly batch: number
  row: number
}

/**
 * The order of reading as an order key: how far reading had got (20 bits, so that the rows spread over the key space), then
 * the batch and the row in it (22 bits each).
 */
function readingOrder(order: RowOrder): string {
  const position = BigInt(Math.min(0xf_ffff, Math.floor(order.progress * 2 ** 20)))
  const key = (position << 44n) | (BigInt(order.batch) << 22n) | BigInt(order.row++)
  return key.toString(16).padStart(16, '0')
}

interface RowPlace {
  file: MergeFile
  number: number
  row: number
  piece: Piece
}

function readSide({ side, split }: MergeFile): ReadSide {
  return side === 'old' && split !== trainSplit ? 'heldOut' : side
}

function keyOf(promptId: string | null, group: number, row: number, weight: number, tag: number) {
  return { id: promptId ?? placeId(group, row), group, row, weight, tag }
}

/** Rows without a conversation are duplicates of nothing. */
function placeId(group: number, row: number): string {
  return fateOf('place', `${group}:${row}`).slice(0, 32)
}

function badnessOf(error: unknown): { row: number; problem: string } {
  if (error instanceof BadRow) return { row: error.row, problem: error.problem }
  if (error instanceof BadFile) return { row: 0, problem: error.found }
  throw error
}

/** Calls for every row: its line of JSON, and its number. Throws `BadRow` and `BadFile`. */
async function forEachLine(piece: Piece, style: CellStyle, visit: (line: Buffer, row: number) => void): Promise<void> {
  if (piece.kind === 'csv') throw new BadFile('unsupported', 'CSV holds no datasets')
  if (piece.kind === 'json') {
    forEachJsonLine(piece, visit)
    return
  }
  for await (const { batch, firstRow } of readBatches(piece)) {
    const text = rowText(batch, style)
    for (let n = 0; n < batch.numRows; n++) visit(Buffer.from(text(n)), firstRow + n)
  }
}

function forEachJsonLine(block: JsonBlock, visit: (line: Buffer, row: number) => void): void {
  const bytes = Buffer.from(block.bytes.buffer, block.bytes.byteOffset, block.bytes.length)
  if (block.isCut) throw new BadRow(block.firstRow, 'is longer than a row may be')
  const isAllUtf8 = isUtf8(bytes)
  forEachSpan(block.spans, (start, end, n) => {
    if (isBlankSpan(bytes, start, end)) return
    const line = bytes.subarray(start, end)
    if (!isAllUtf8 && !isUtf8(line)) throw new BadRow(block.firstRow + n, 'is not UTF-8')
    visit(line.includes(newline) ? onOneLine(line) : line, block.firstRow + n)
  })
}

const newline = 10
const carriageReturn = 13
const space = 32

/** An object that was written over several lines. Breaks inside of texts are escaped: these are all between values. */
function onOneLine(line: Buffer): Buffer {
  return Buffer.from(line.map((byte) => (byte === newline || byte === carriageReturn ? space : byte)))
}

function readRow(line: Buffer, row: number): RawNode {
  const start = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0
  try {
    const node = parseRaw(line, start, line.length)
    if (node.kind === 'object') return node
  } catch (error) {
    if (!(error instanceof RawSyntax)) throw error
    throw new BadRow(row, `is not JSON: ${error.message}`)
  }
  throw new BadRow(row, 'is not a JSON object')
}

function readSample(line: Buffer, row: number): RawSample {
  try {
    return readRawSample(line)
  } catch (error) {
    if (error instanceof RawSyntax || error instanceof SyntaxError) throw new BadRow(row, error.message)
    throw error
  }
}

/** What is to be said of a batch. */
class Books {
  readonly sketch: TypeSketch = newSketch()
  readonly #sources = new SourceTable()
  readonly #read: Record<ReadSide, number[]> = { old: [], new: [], heldOut: [] }
  readonly #dropped: Record<string, number[]> = {}

  /** @param tags the thread's sources, by the tags of its rows. */
  constructor(private readonly tags: SourceTable) {}

  /** Counts a row; gives the tag of its source. */
  read(side: ReadSide, source: string | null): number {
    const name = source ?? unnamedSource
    countAt(this.#read[side], this.#sources.numberOf(name))
    return this.tags.numberOf(name)
  }

  drop(reason: string, source: string): void {
    this.#dropped[reason] ??= []
    countAt(this.#dropped[reason], this.#sources.numberOf(source))
  }

  close(): ScannedBatch {
    return { sources: this.#sources.names, read: this.#read, dropped: this.#dropped, sketch: this.sketch }
  }
}
