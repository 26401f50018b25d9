import { PassThrough, pipeline, Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createGunzip } from 'node:zlib'
import unbzip2 from 'unbzip2-stream'
import xz from 'xz-decompress'
import { blamingFile } from '../bad-file.ts'
import { type ByteReader, chunksOf, peek, readerOf } from '../byte-reader.ts'
import { unzstd } from './zstd.ts'

type Decompress = (compressed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

/** Compressions by the bytes that a file begins with, in hex: names may lie. */
const compressions: readonly { name: string; magic: string; decompress: Decompress }[] = [
  {
    name: 'gzip',
    magic: '1f8b',
    decompress: (compressed) => through(compressed, createGunzip({ chunkSize: chunkBytes })),
  },
  { name: 'zstd', magic: '28b52ffd', decompress: unzstd },
  { name: 'bzip2', magic: '425a68', decompress: (compressed) => through(compressed, unbzip2()) },
  { name: 'xz', magic: 'fd377a585a00', decompress: unxz },
]

/** A chunk at a time: with the library's own 16 KiB, passing them on costs more than decompressing. */
const chunkBytes = 512 * 1024

const longestMagic = 6

/**
 * The reader of what is in a file: its bytes, or those that its compression holds. Data that is cut short, damaged or
 * followed by something else throws `BadFile` when the reading gets there.
 */
export async function decompressed(raw: ByteReader): Promise<ByteReader> {
  const { head, reader } = await peek(raw, longestMagic)
  const begin = head.toString('hex')
  const compression = compressions.find(({ magic }) => begin.startsWith(magic))
  if (!compression) return reader
  // A connection that breaks is not the file's fault, though it comes up through the decompressor.
  let readError: unknown
  const watched: ByteReader = {
    ...reader,
    read: (target) =>
      reader.read(target).catch((error: unknown) => {
        readError = error
        throw error
      }),
  }
  const inner = readerOf(compression.decompress(chunksOf(watched)))
  return {
    read: (target) =>
      blamingFile(() => inner.read(target), `its ${compression.name} data gives `).catch((error: unknown) => {
        throw readError ?? error
      }),
    close: async () => {
      await inner.close()
      await raw.close()
    },
  }
}

async function* through(
  compressed: AsyncIterable<Uint8Array>,
  decompressor: NodeJS.ReadWriteStream,
): AsyncGenerator<Uint8Array> {
  const input = Readable.from(compressed, { objectMode: false })
  const output = new PassThrough()
  // What fails in the pipeline is thrown by the iteration over its end.
  pipeline(input, decompressor, output, () => {})
  try {
    yield* output as AsyncIterable<Uint8Array>
  } finally {
    input.destroy()
    output.destroy()
  }
}

async function* unxz(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = Readable.toWeb(Readable.from(compressed, { objectMode: false })) as ReadableStream<Uint8Array>
  yield* new xz.XzReadableStream(input) as unknown as AsyncIterable<Uint8Array>
}
