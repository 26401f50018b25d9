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

const chunkBytes = 256 * 1024

/** The other way round: a reader as a stream of chunks, each in memory of its own. */
export async function* chunksOf(reader: ByteReader): AsyncGenerator<Uint8Array> {
  for (;;) {
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    const read = await reader.read(chunk)
    if (read === 0) return
    yield chunk.subarray(0, read)
  }
}

/** Reads until `target` is full or the input over; gives how many bytes there were. */
export async function fill(reader: ByteReader, target: Uint8Array): Promise<number> {
  let filled = 0
  while (filled < target.length) {
    const read = await reader.read(target.subarray(filled))
    if (read === 0) break
    filled += read
  }
  return filled
}

/** Looks at the first bytes of a reader without taking them away. */
export async function peek(reader: ByteReader, bytes: number): Promise<{ head: Buffer; reader: ByteReader }> {
  const buffer = Buffer.alloc(bytes)
  const head = buffer.subarray(0, await fill(reader, buffer))
  let left: Uint8Array = head
  return {
    head,
    reader: {
      async read(target) {
        if (left.length === 0) return reader.read(target)
        const part = left.subarray(0, target.length)
        target.set(part)
        left = left.subarray(part.length)
        return part.length
      },
      close: () => reader.close(),
    },
  }
}
