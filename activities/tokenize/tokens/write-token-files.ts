import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Compression, Table, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm'
import type { Column } from '../../../domain/columns.ts'
import { type DatasetFile, type Output, versionName } from '../../../domain/dataset.ts'
import { hfFeatures } from '../../../domain/hf-features.ts'
import { trainSplit } from '../../../domain/splits.ts'
import { hashObject } from '../../../store/hash-object.ts'
import { publish } from '../../../store/publish.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { schemaOf } from '../../merge/columnar/arrow-types.ts'
import { endOfStream } from '../../merge/columnar/encode-columns.ts'
import { DatasetDamaged } from '../../merge/errors.ts'
import { schemaBytes } from '../../merge/output/block-encoder.ts'
import { fileAssembly } from '../../merge/output/file-assembly.ts'
import { type PackedRow, packedRows } from '../units/packed-rows.ts'
import type { OrderedTokens } from './shuffle-tokens.ts'
import { TokenBatch } from './token-batch.ts'

/** How token files can be written: what each is called, and how rows become bytes. */
export type TokenFormat = 'arrow' | 'jsonl' | 'parquet'

export interface WriteTokensIo {
  readonly store: ObjectStore
  readonly version: number
  /** Aim for files of this size; how many there are is reckoned from `arrowBytes`. */
  readonly fileBytes: number
  readonly arrowBytes: number
  readonly signal: AbortSignal
  /** Called with every row before it is written. */
  onRow?(row: PackedRow): void
  onRows(rows: number): void
}

/** Writes the rows into the files of a version. Each is written once, and read back before it counts. */
export async function writeTokenFiles(
  format: TokenFormat,
  ordered: OrderedTokens,
  columns: readonly Column[],
  io: WriteTokensIo,
): Promise<DatasetFile[]> {
  const { rows } = ordered.counts.merged
  const parts = Math.max(1, Math.min(rows, Math.round(io.arrowBytes / io.fileBytes)))
  const encode = encoders[format](columns)
  const batches = batchesOf(ordered, parts, io)
  const files: DatasetFile[] = []
  for (let first = batches.next(); !first.done; first = batches.next()) {
    io.signal.throwIfAborted()
    files.push(await writeFile(format, first.value, batches, { encode, columns, part: files.length, parts }, io))
  }
  return files
}

interface CutBatch {
  readonly batch: TokenBatch
  readonly isLastOfPart: boolean
}

/** Batches of rows; each of the parts, of about equal size, ends with one. */
function* batchesOf(ordered: OrderedTokens, parts: number, io: WriteTokensIo): Generator<CutBatch> {
  const batch = new TokenBatch()
  const { merged } = ordered.counts
  let [part, tokens, rows] = [1, 0, 0]
  for (const slice of ordered.slices()) {
    for (const row of packedRows(Buffer.from(slice.bytes.buffer, slice.bytes.byteOffset, slice.bytes.byteLength))) {
      io.onRow?.(row)
      batch.add(row)
      tokens += row.idCount
      rows++
      // No part is left without a row, however long single rows are.
      const isPartFull = tokens >= (merged.tokens * part) / parts || merged.rows - rows <= parts - part
      const isLastOfPart = rows === merged.rows || (isPartFull && part < parts)
      if (!isLastOfPart && !batch.isFull) continue
      if (isLastOfPart) part++
      yield { batch, isLastOfPart }
      batch.clear()
    }
    io.onRows(rows)
  }
}

interface Writing {
  encode: (batch: TokenBatch) => Promise<Uint8Array>
  columns: readonly Column[]
  part: number
  parts: number
}

async function writeFile(
  format: TokenFormat,
  first: CutBatch,
  rest: Generator<CutBatch>,
  { encode, columns, part, parts }: Writing,
  { store, version, signal }: WriteTokensIo,
): Promise<DatasetFile> {
  const assembly = fileAssembly(outputs[format], columns)()
  let rows = 0
  async function* body(): AsyncGenerator<Uint8Array> {
    yield assembly.begin()
    for (let cut = first; ; ) {
      signal.throwIfAborted()
      rows += cut.batch.rows
      yield assembly.add(await encode(cut.batch))
      if (cut.isLastOfPart) break
      const next = rest.next()
      if (next.done) throw new Error('The rows end in the middle of a file.')
      cut = next.value
    }
    yield assembly.end()
  }
  const key = `${versionName(version)}/${names[format](part, parts)}`
  const { info, sha256 } = await publish(store, key, body(), { signal })
  if ((await hashObject(store, key, { signal })) !== sha256) {
    throw new DatasetDamaged(`${store.uri}/${key}`, 'does not hold what was written to it')
  }
  return { key, split: trainSplit, rows, bytes: info.bytes, sha256 }
}

const number = (part: number) => String(part).padStart(5, '0')

/** The names that `save_to_disk` gives to Arrow files; other formats lie beside them in folders. */
const names: Readonly<Record<TokenFormat, (part: number, parts: number) => string>> = {
  arrow: (part, parts) => `data-${number(part)}-of-${number(parts)}.arrow`,
  jsonl: (part) => `jsonl/part-${number(part)}.jsonl.gz`,
  parquet: (part) => `parquet/part-${number(part)}.parquet`,
}

const outputs: Readonly<Record<TokenFormat, Output>> = {
  arrow: { format: 'arrow', compression: 'none' },
  jsonl: { format: 'jsonl', compression: 'gzip' },
  parquet: { format: 'parquet', compression: 'zstd' },
}

const gzipBytes = promisify(gzip)
const gzipLevel = 4

const encoders: Readonly<
  Record<TokenFormat, (columns: readonly Column[]) => (batch: TokenBatch) => Promise<Uint8Array>>
> = {
  arrow: (columns) => {
    const schema = schemaWithFeatures(columns)
    const prefix = schemaBytes(columns).length
    return async (batch) => {
      const stream = batch.toStream(schema)
      return stream.subarray(prefix, stream.length - endOfStream.length)
    }
  },
  jsonl: () => async (batch) => await gzipBytes(batch.toLines(), { level: gzipLevel }),
  parquet: (columns) => {
    const schema = schemaWithFeatures(columns)
    return async (batch) => {
      const properties = new WriterPropertiesBuilder()
        .setCompression(Compression.ZSTD)
        .setMaxRowGroupSize(2 ** 31)
        .setCreatedBy('longhaul')
        .build()
      return writeParquet(Table.fromIPCStream(batch.toStream(schema)), properties)
    }
  },
}

/** The schema with what `datasets` looks for to restore its features. */
function schemaWithFeatures(columns: readonly Column[]) {
  return schemaOf(columns, new Map([['huggingface', JSON.stringify({ info: { features: hfFeatures(columns) } })]]))
}
