import type { ObjectStore } from '../../store/store.ts'

/** Another content lies where an object was to be written for the first time. */
export class WrittenOtherwise extends Error {
  override readonly name = 'WrittenOtherwise'
  constructor(
    readonly store: string,
    readonly key: string,
  ) {
    super(`${store}/${key} is there already, with another content: was the run prepared from other sources before?`)
  }
}

/** Writes an object that nobody may ever change. The same content there already is the same as having written it. */
export async function putOnce(store: ObjectStore, key: string, body: Uint8Array | string): Promise<void> {
  if (await store.head(key)) {
    const there = await readBytes(store, key)
    if (!there.equals(Buffer.from(body))) throw new WrittenOtherwise(store.uri, key)
    return
  }
  await store.put(key, body, { onlyIf: 'absent' })
}

/** An object parsed as JSON; undefined when there is none. */
export async function readJson<T>(store: ObjectStore, key: string): Promise<T | undefined> {
  if (!(await store.head(key))) return undefined
  return JSON.parse((await readBytes(store, key)).toString('utf8')) as T
}

async function readBytes(store: ObjectStore, key: string): Promise<Buffer> {
  const { body } = await store.get(key)
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
