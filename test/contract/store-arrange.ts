import { createHash } from 'node:crypto'
import type { ObjectStore } from '../../store/store.ts'

/** Bytes that differ at every offset and for every seed, so that a shifted or mixed-up part shows. */
export function pattern(bytes: number, seed = 1): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  let state = (seed * 2654435761) >>> 0 || 1
  for (let at = 0; at < bytes; at++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    buffer[at] = state & 0xff
  }
  return buffer
}

export async function* chunked(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes)
}

export async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function bytesOf(store: ObjectStore, key: string): Promise<Buffer> {
  return await collect((await store.get(key)).body)
}

export async function textOf(store: ObjectStore, key: string): Promise<string> {
  return (await bytesOf(store, key)).toString()
}

export async function keysOf(store: ObjectStore, prefix = ''): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

/** Hashes compare fast and print short, where two buffers of megabytes would not. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
