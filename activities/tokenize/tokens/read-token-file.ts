import { type Data, DataType, type RecordBatch } from 'apache-arrow'
import { BadFile } from '../../../formats/bad-file.ts'
import { cutFile } from '../../../formats/cut-file.ts'
import type { SourceFile } from '../../../formats/places/source-file.ts'
import { readBatches } from '../../merge/columnar/read-batches.ts'
import { DatasetDamaged } from '../../merge/errors.ts'
import { unnamedSource } from '../rows/conversation-of.ts'
import { spansOfMask } from '../rows/token-row.ts'
import { RowPacker } from '../units/packed-rows.ts'
import type { TokenColumns } from './token-columns.ts'

/** Rows that are handed over at a time. */
export interface PackedBatch {
  /** As `RowPacker` writes them; the memory is used again for the next batch. */
  readonly packed: Buffer
  readonly rows: number
  /** Row in the file, from 1, of the first. */
  readonly firstRow: number
}

const sizes = { blockBytes: 4 * 1024 * 1024, maxRowBytes: 256 * 1024 * 1024 }

/** Rows of a tokenized file, Arrow or Parquet, as they are: nothing is tokenized again. Throws `DatasetDamaged`. */
export async function* readTokenFile(file: SourceFile, columns: TokenColumns): AsyncGenerator<PackedBatch> {
  const packer = new RowPacker(8 * 1024 * 1024)
  try {
    for await (const piece of cutFile(file, { ...sizes, format: 'auto' })) {
      if (piece.kind !== 'arrow' && piece.kind !== 'parquet') {
        throw new BadFile('unsupported', 'tokens are read from Arrow or Parquet')
      }
      for await (const { batch, firstRow } of readBatches(piece)) {
        packer.clear()
        packBatch(batch, columns, packer, firstRow)
        yield { packed: packer.packed, rows: packer.rows, firstRow }
      }
    }
  } catch (error) {
    if (!(error instanceof BadFile)) throw error
    throw new DatasetDamaged(file.uri, `can not be read: ${error.found}`)
  }
}

function packBatch(batch: RecordBatch, columns: TokenColumns, packer: RowPacker, firstRow: number): void {
  const ids = listColumn(batch, columns.ids)
  const mask = listColumn(batch, columns.mask)
  const promptIds = columns.promptId === undefined ? undefined : batch.getChild(columns.promptId)
  const sources = columns.source === undefined ? undefined : batch.getChild(columns.source)
  for (let n = 0; n < batch.numRows; n++) {
    const [start, end] = ids.rangeOf(n)
    const [maskStart, maskEnd] = mask.rangeOf(n)
    if (end - start !== maskEnd - maskStart) {
      const found = `row ${firstRow + n} has ${end - start} ids and ${maskEnd - maskStart} places in ${columns.mask}`
      throw new BadFile('corrupt', found)
    }
    packer.add({
      promptId: String(promptIds?.get(n) ?? ''),
      source: String(sources?.get(n) ?? unnamedSource),
      part: 0,
      ids: ids.numbers(start, end),
      spans: columns.isLabels ? spansOfMask(mask.learnt(start, end)) : spansOfMask(mask.flags(maskStart, maskEnd)),
    })
  }
}

/** A column of lists of numbers, read without making objects. */
interface ListColumn {
  rangeOf(row: number): [start: number, end: number]
  numbers(start: number, end: number): Int32Array
  /** 1 where there is something else than 0. */
  flags(start: number, end: number): Uint8Array
  /** 1 where there is something else than -100. */
  learnt(start: number, end: number): Uint8Array
}

/** What labels have where nothing is to be learnt. */
const ignored = -100

function listColumn(batch: RecordBatch, name: string): ListColumn {
  const data = batch.getChild(name)?.data[0] as Data | undefined
  const child = data?.children[0] as Data | undefined
  if (!data || !child || data.nullCount > 0) {
    throw new BadFile('corrupt', data ? `${name} is null in a row` : `there is no column ${name}`)
  }
  const offsets = data.valueOffsets as ArrayLike<number | bigint> | undefined
  const size = DataType.isFixedSizeList(data.type) ? data.type.listSize : 0
  const values = child.values as ArrayLike<number | bigint> & Partial<Int32Array>
  const at: (n: number) => number = DataType.isBool(child.type) ? bitReader(child) : (n) => Number(values[n])
  const map = <Target extends Int32Array | Uint8Array>(
    target: Target,
    start: number,
    of: (value: number) => number,
  ) => {
    for (let n = 0; n < target.length; n++) target[n] = of(at(start + n))
    return target
  }
  return {
    rangeOf: (row) => {
      if (size > 0) return [(data.offset + row) * size, (data.offset + row + 1) * size]
      return [Number(offsets?.[row] ?? 0), Number(offsets?.[row + 1] ?? 0)]
    },
    numbers: (start, end) => {
      if (values instanceof Int32Array) return values.subarray(start, end)
      // What does not fit is no id, and stays recognisable as none.
      return map(new Int32Array(end - start), start, (value) => (Math.abs(value) <= 0x7fff_ffff ? value : -1))
    },
    flags: (start, end) => map(new Uint8Array(end - start), start, (value) => (value === 0 ? 0 : 1)),
    learnt: (start, end) => map(new Uint8Array(end - start), start, (value) => (value === ignored ? 0 : 1)),
  }
}

function bitReader({ values, offset }: Data): (n: number) => number {
  const bits = values as Uint8Array
  return (n) => ((bits[(offset + n) >>> 3] ?? 0) >>> ((offset + n) & 7)) & 1
}
