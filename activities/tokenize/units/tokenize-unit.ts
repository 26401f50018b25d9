import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LeftOutRow } from '../../../domain/left-out.ts'
import { addSources, type SourceTokens } from '../../../domain/tokenized.ts'
import { BadFile } from '../../../formats/bad-file.ts'
import { cutFile } from '../../../formats/cut-file.ts'
import { mapInOrder } from '../../../shuffle/map-in-order.ts'
import { putJson } from '../../../store/put-json.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { verifiedFile } from '../../merge/data-file.ts'
import { DatasetDamaged } from '../../merge/errors.ts'
import { type PlanFile, type UnitFile, workKeys } from '../plan/plan-file.ts'
import { findCachedUnit } from './cached-unit.ts'
import type { TokenizeSizes } from './sizes.ts'
import type { ModelPlace, TokenizeInput, TokenizeTasks } from './tokenize-tasks.ts'
import { type UnitRecord, unitFacts, unitKeyOf } from './unit-record.ts'

export interface UnitIo {
  /** Where units are kept: the tokenized dataset. */
  readonly store: ObjectStore
  /** Where the files lie that are tokenized. */
  readonly input: ObjectStore
  /** Local folder for what is in the making. */
  readonly folder: string
  readonly tasks: TokenizeTasks
  /** Tasks that run at the same time. */
  readonly threads: number
  readonly model: ModelPlace
  readonly sizes: TokenizeSizes
  readonly signal: AbortSignal
  onBytes(bytes: number): void
  onTokens(tokens: number): void
  /** Told of a cached unit that is not what it should be, and is made again. */
  onPoisoned(what: string): void
}

/** Tokenizes a file, or finds that it was done before: by an earlier attempt, or by another worker. */
export async function tokenizeUnit(plan: PlanFile, unit: UnitFile, io: UnitIo): Promise<UnitRecord> {
  const facts = unitFacts(plan, unit)
  const key = unitKeyOf(facts)
  const firstPiece = () => tokenizeFirstPiece(plan, unit, io)
  const cached = await findCachedUnit({ store: io.store, key, facts, firstPiece, onPoisoned: io.onPoisoned })
  if (cached) return cached
  const folder = join(io.folder, `unit-${key}-${process.pid}`)
  await mkdir(folder, { recursive: true })
  try {
    const made = await makeUnit(plan, unit, key, folder, io)
    const record: UnitRecord = { facts, ...made }
    if (record.rowsRead !== unit.rows) {
      throw new DatasetDamaged(
        `${io.input.uri}/${unit.key}`,
        `has ${record.rowsRead} rows where its records say ${unit.rows}`,
      )
    }
    await putJson(io.store, workKeys.unit(key, 'json'), record)
    return record
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function makeUnit(
  plan: PlanFile,
  unit: UnitFile,
  key: string,
  folder: string,
  io: UnitIo,
): Promise<Omit<UnitRecord, 'facts'>> {
  const path = join(folder, 'rows')
  const file = await open(path, 'w')
  const hash = createHash('sha256')
  const sources: Record<string, SourceTokens> = {}
  const leftOut: LeftOutRow[] = []
  let [rowsRead, rows, bytes] = [0, 0, 0]
  try {
    const inputs = inputsOf(plan, unit, folder, io)
    const pieces = mapInOrder(inputs, io.threads + 1, (input) => io.tasks.tokenize(input))
    for await (const { packed, ...made } of pieces) {
      io.signal.throwIfAborted()
      await file.write(packed)
      hash.update(packed)
      bytes += packed.length
      rows += made.rows
      rowsRead += made.rowsRead
      addSources(sources, made.sources)
      leftOut.push(...made.leftOut)
      io.onTokens(tokensOf(made.sources))
    }
  } catch (error) {
    throw error instanceof BadFile ? new DatasetDamaged(`${io.input.uri}/${unit.key}`, error.found) : error
  } finally {
    await file.close()
  }
  const { signal } = io
  const lines = leftOut.map((row) => `${JSON.stringify(row)}\n`).join('')
  await io.store.putStream(workKeys.unit(key, 'rows'), createReadStream(path), { signal })
  if (leftOut.length > 0) await io.store.put(workKeys.unit(key, 'left-out.jsonl'), lines, { signal })
  const leftOutHash = createHash('sha256').update(lines).digest('hex')
  return {
    ...{ rowsRead, rows, bytes, sha256: hash.digest('hex'), sources },
    leftOut: { rows: leftOut.length, sha256: leftOutHash },
  }
}

function tokensOf(sources: Readonly<Record<string, SourceTokens>>): number {
  return Object.values(sources).reduce((sum, { tokens }) => sum + tokens, 0)
}

/** The pieces of a file with what each thread has to know. */
async function* inputsOf(plan: PlanFile, unit: UnitFile, folder: string, io: UnitIo): AsyncGenerator<TokenizeInput> {
  const { key, bytes, sha256 } = unit
  const { inputs, options } = plan
  // A file without a byte is one without a row; the readers would call it bad.
  if (bytes === 0) return
  const { signal, onBytes } = io
  const reading = { spool: join(folder, 'spool'), signal, onBytes }
  const file = verifiedFile({ store: io.input, key, bytes, sha256 }, reading)
  const context = {
    ...{ file: key, kind: inputs.kind, options },
    ...(inputs.shape && { shape: inputs.shape }),
    checkEvery: io.sizes.checkEvery,
    maxRowBytes: io.sizes.maxRowBytes,
  }
  for await (const piece of cutFile(file, { ...io.sizes, format: 'auto' })) yield { piece, context, model: io.model }
}

/** The rows that the begin of a file gives; nothing for files that are only read as a whole. */
async function tokenizeFirstPiece(plan: PlanFile, unit: UnitFile, io: UnitIo): Promise<Uint8Array | undefined> {
  const sizes = { ...io.sizes, blockBytes: io.sizes.probeBytes }
  for await (const input of inputsOf(plan, unit, io.folder, { ...io, sizes })) {
    if (input.piece.kind !== 'json') return undefined
    return (await io.tasks.tokenize(input)).packed
  }
  return undefined
}
