import { MalformedObject, PreconditionFailed } from './errors.ts'
import type { CallOptions, GetOptions, ObjectInfo, ObjectRead, ObjectStore } from './store.ts'

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

/** An object that is replaced this often in the middle of being read is not read by trying again. */
const mostReplacements = 10

/**
 * Reads an object to its end; `read` begins again when the object was replaced in the middle and the connection broke, so
 * that the rest of the version that it had begun with is gone. With `ifMatch` that is an error, as nobody else will do.
 */
export async function readOneVersion<T>(
  store: ObjectStore,
  key: string,
  options: GetOptions | undefined,
  read: (object: ObjectRead) => Promise<T>,
): Promise<T> {
  for (let replacements = 0; ; replacements++) {
    try {
      return await read(await store.get(key, options))
    } catch (error) {
      const wasReplaced = error instanceof PreconditionFailed && options?.ifMatch === undefined
      if (!wasReplaced || replacements === mostReplacements) throw error
    }
  }
}

async function readVersion(
  store: ObjectStore,
  key: string,
  options?: GetOptions,
): Promise<{ bytes: Buffer; info: ObjectInfo }> {
  return await readOneVersion(store, key, options, async ({ body, ...info }) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    return { bytes: Buffer.concat(chunks), info }
  })
}

function decode(store: ObjectStore, key: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new MalformedObject(store.uri, key, 'it is no UTF-8', error)
  }
}
