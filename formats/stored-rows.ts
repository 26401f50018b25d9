import { createHash } from 'node:crypto'
import type { CallOptions, ObjectStore } from '../store/store.ts'
import { BadFile, badFileReasons } from './bad-file.ts'
import { type ByteReader, chunksOf, readerOf } from './byte-reader.ts'
import { decompressed } from './compression/decompress.ts'

/** What reading an object of rows from its first to its last byte has found. */
export interface StoredRows {
  /** As it lies in the store. */
  bytes: number
  /** SHA-256 (hex) of these bytes. */
  sha256: string
  /** Rows that were read, up to the problem if there is one. */
  rows: number
  /** Why not all rows can be read, as the end of a sentence that begins with the object's name. */
  problem?: string
}

/** A row is not what its reader expects; thrown by `onRow`. */
export class BadRow extends Error {
  override readonly name = 'BadRow'
}

/** A longer row is none: memory stays bounded whatever an object holds. */
const longestRowBytes = 256 * 1024 * 1024

/**
 * Reads an object of rows, a line each, once: hashes what lies in the store, undoes the compression that its first bytes
 * tell, and calls `onRow` with each row. An object that is damaged or a row that `onRow` refuses with `BadRow` ends the rows,
 * not the hashing. Throws what the store throws.
 */
export async function readStoredRows(
  store: ObjectStore,
  key: string,
  onRow: (row: Buffer) => void,
  options: CallOptions = {},
): Promise<StoredRows> {
  const hash = createHash('sha256')
  let bytes = 0
  const { body } = await store.get(key, options)
  const hashed = async function* () {
    for await (const chunk of body) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  const raw = readerOf(hashed())
  try {
    const read = await readRows(raw, onRow)
    // What the compression left unread counts for the hash as well.
    for await (const _ of chunksOf(raw));
    return { bytes, sha256: hash.digest('hex'), ...read }
  } finally {
    await raw.close()
  }
}

async function readRows(raw: ByteReader, onRow: (row: Buffer) => void): Promise<{ rows: number; problem?: string }> {
  let rows = 0
  try {
    for await (const row of linesOf(await decompressed(raw))) {
      onRow(row)
      rows += 1
    }
    return { rows }
  } catch (error) {
    if (error instanceof BadRow) return { rows, problem: `has a bad row: row ${rows + 1} ${error.message}` }
    if (error instanceof BadFile) return { rows, problem: `${badFileReasons[error.reason]}: ${error.found}` }
    throw error
  }
}

async function* linesOf(reader: ByteReader): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = []
  let pendingBytes = 0
  for await (const bytes of chunksOf(reader)) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const rest = chunk.subarray(start, end)
      yield pieces.length === 0 ? rest : Buffer.concat([...pieces, rest])
      pieces = []
      pendingBytes = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    pieces.push(chunk.subarray(start))
    pendingBytes += chunk.length - start
    if (pendingBytes > longestRowBytes) throw new BadFile('corrupt', `a row is longer than ${longestRowBytes} bytes`)
  }
  if (pendingBytes > 0) yield Buffer.concat(pieces)
}
