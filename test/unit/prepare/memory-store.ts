import type { ObjectInfo, ObjectStore } from '../../../store/store.ts'

/** A store in memory: enough of the interface for prepare. */
export function memoryStore(): ObjectStore & { objects: Map<string, Buffer> } {
  const objects = new Map<string, Buffer>()
  const info = (key: string): ObjectInfo => ({
    key,
    bytes: objects.get(key)!.length,
    etag: String(objects.get(key)!.length),
    modifiedAt: new Date(0),
  })
  const put = async (key: string, body: Uint8Array | string, onlyIf?: unknown) => {
    if (onlyIf === 'absent' && objects.has(key)) throw new Error(`${key} is there`)
    objects.set(key, Buffer.from(body as string))
    return info(key)
  }
  return {
    objects,
    uri: 'file:///memory',
    put: (key, body, options) => put(key, body, options?.onlyIf),
    async putStream(key, body, options) {
      const chunks: Uint8Array[] = []
      for await (const chunk of body) chunks.push(Buffer.from(chunk))
      return put(key, Buffer.concat(chunks), options?.onlyIf)
    },
    async get(key) {
      const bytes = objects.get(key)
      if (!bytes) throw new Error(`no ${key}`)
      return {
        ...info(key),
        body: (async function* () {
          yield bytes
        })(),
      }
    },
    head: async (key) => (objects.has(key) ? info(key) : undefined),
    async *list(prefix) {
      for (const key of [...objects.keys()].sort()) if (key.startsWith(prefix)) yield info(key)
    },
    copy: async (from, to) => put(to, objects.get(from)!),
    delete: async (key) => {
      objects.delete(key)
    },
    close: async () => {},
  }
}
