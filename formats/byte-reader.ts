import { open } from 'node:fs/promises'

/** Bytes in sequence, read into memory that the caller owns. */
export interface ByteReader {
  /** Fills as much of `target` as there is at once; 0 at the end. */
  read(target: Uint8Array): Promise<number>
  close(): Promise<void>
}

/** Reads a local file. */
export async function openFile(path: string): Promise<ByteReader> {
  const file = await open(path, 'r')
  return {
    read: async (target) => (await file.read(target, 0, target.length, null)).bytesRead,
    close: () => file.close(),
  }
}

/** Reads the chunks of a stream. */
export function readerOf(chunks: AsyncIterable<Uint8Array>): ByteReader {
  const iterator = chunks[Symbol.asyncIterator]()
  let chunk: Uint8Array = new Uint8Array(0)
  return {
    async read(target) {
      while (chunk.length === 0) {
        const next = await iterator.next()
        if (next.done) return 0
        chunk = next.value
      }
      const part = chunk.subarray(0, target.length)
      target.set(part)
      chunk = chunk.subarray(part.length)
      return part.length
    },
    close: async () => {
      await iterator.return?.()
    },
  }
}
