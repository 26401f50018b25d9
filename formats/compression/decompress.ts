import { PassThrough, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { blamingFile } from '../bad-file.ts'
import { type ByteReader, chunksOf, peek, readerOf } from '../byte-reader.ts'

type Decompress = (compressed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

/** Compressions by the bytes that a file begins with, in hex: names may lie. Each is loaded when it is first met. */
const compressions: readonly { name: string; magic: string; load: () => Promise<Decompress> }[] = [
  { name: 'gzip', magic: '1f8b', load: async () => (compressed) => through(compressed, createGunzip()) },
  { name: 'zstd', magic: '28b52ffd', load: async () => (await import('./zstd.ts')).unzstd },
  {
    name: 'bzip2',
    magic: '425a68',
    load: async () => {
      const { default: unbzip2 } = await import('unbzip2-stream')
      return (compressed) => through(compressed, unbzip2())
    },
  },
  { name: 'xz', magic: 'fd377a585a00', load: async () => (await import('./xz.ts')).unxz },
]

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
  const decompress = await compression.load()
  const inner = readerOf(decompress(chunksOf(watched)))
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
