import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import xz from 'xz-decompress'

/** Decompresses xz and checks its checksums. */
export async function* unxz(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = Readable.toWeb(Readable.from(compressed, { objectMode: false })) as ReadableStream<Uint8Array>
  yield* new xz.XzReadableStream(input) as unknown as AsyncIterable<Uint8Array>
}
