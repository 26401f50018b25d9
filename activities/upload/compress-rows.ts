import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { compress as zstd } from '@mongodb-js/zstd'
import type { Spec } from '../../domain/spec.ts'
import { mapInOrder } from '../../shuffle/map-in-order.ts'

const gzipBytes = promisify(gzip)

/** Near the best size at a third of the time of the default level. */
const gzipLevel = 4
const zstdLevel = 3

/** Much larger than the window of gzip, so that beginning anew with each piece costs no size worth mentioning. */
const pieceBytes = 2 * 1024 * 1024

/** One is compressed while the next is read; what waits in memory stays small. */
const piecesInFlight = 2

/** Content type of compressed rows. */
export const contentTypes: Readonly<Record<Spec['compression'], string>> = {
  gzip: 'application/gzip',
  zstd: 'application/zstd',
}

/**
 * Compresses rows off the main thread. Each piece is a gzip member or zstd frame of its own; one after the other they are an
 * ordinary file of that kind, and the same rows give the same bytes.
 */
export async function* compressRows(
  rows: AsyncIterable<Buffer>,
  compression: Spec['compression'],
): AsyncGenerator<Uint8Array> {
  yield* mapInOrder(piecesOf(rows), piecesInFlight, compressors[compression])
}

const compressors: Readonly<Record<Spec['compression'], (piece: Buffer) => Promise<Uint8Array>>> = {
  gzip: (piece) => gzipBytes(piece, { level: gzipLevel }),
  zstd: (piece) => zstd(piece, zstdLevel),
}

const newline = Buffer.from('\n')

async function* piecesOf(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let piece: Buffer[] = []
  let bytes = 0
  for await (const row of rows) {
    piece.push(row, newline)
    bytes += row.length + 1
    if (bytes < pieceBytes) continue
    yield Buffer.concat(piece)
    piece = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(piece)
}
