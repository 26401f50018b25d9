import { MalformedObject } from './errors.ts'
import type { CallOptions, GetOptions, ObjectInfo, ObjectStore } from './store.ts'

/** The whole object in memory. Throws `ObjectNotFound`. */
export async function readBytes(store: ObjectStore, key: string, options?: GetOptions): Promise<Buffer> {
  return (await readVersion(store, key, options)).bytes
}

/** Throws `ObjectNotFound`, and `MalformedObject` if the object is no UTF-8. */
export async function readText(store: ObjectStore, key: string, options?: GetOptions): Promise<string> {
  return decode(store, key, await readBytes(store, key, options))
}

/**
 * The value of a JSON object. Throws `ObjectNotFound`, and `MalformedObject` if it is no JSON or `parse` (a schema's, say)
 * throws on it.
 */
export async function readJson<T = unknown>(
  store: ObjectStore,
  key: string,
  parse?: (value: unknown) => T,
  options?: CallOptions,
): Promise<T> {
  return (await readJsonVersion(store, key, parse, options)).value
}

/** Like `readJson`, with the facts of the very version that was read: its etag is what a compare-and-swap needs. */
export async function readJsonVersion<T = unknown>(
  store: ObjectStore,
  key: string,
  parse: (value: unknown) => T = (value) => value as T,
  options?: CallOptions,
): Promise<{ value: T; info: ObjectInfo }> {
  const { bytes, info } = await readVersion(store, key, options)
  const text = decode(store, key, bytes)
  try {
    return { value: parse(JSON.parse(text)), info }
  } catch (error) {
    const problem = error instanceof SyntaxError ? 'it is no JSON' : 'it is not what was expected'
    throw new MalformedObject(store.uri, key, `${problem}: ${error instanceof Error ? error.message : error}`, error)
  }
}

async function readVersion(
  store: ObjectStore,
  key: string,
  options?: GetOptions,
): Promise<{ bytes: Buffer; info: ObjectInfo }> {
  const { body, ...info } = await store.get(key, options)
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return { bytes: Buffer.concat(chunks), info }
}

function decode(store: ObjectStore, key: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new MalformedObject(store.uri, key, 'it is no UTF-8', error)
  }
}
