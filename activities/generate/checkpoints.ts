import { open, readdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { readBytes } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Journal } from './journal.ts'

/**
 * Checkpoint parts: stretches of a journal in the store, so that another host can take the shard over when this one is
 * gone. A part is whole journal lines, compressed; its name is the journal's and a number.
 */

const compress = promisify(gzip)
const decompress = promisify(gunzip)

export class CheckpointWriter {
  #savedBytes = 0
  #parts = 0

  constructor(
    private readonly store: ObjectStore,
    /** Key prefix of the shard's parts, with a slash at the end. */
    private readonly prefix: string,
    private readonly journal: Journal,
  ) {}

  /** Saves what was synced to the journal since the last part. */
  async save(): Promise<void> {
    const until = this.journal.syncedBytes
    if (until === this.#savedBytes) return
    const lines = await readStretch(this.journal.file, this.#savedBytes, until)
    const name = `${basename(this.journal.file, '.journal')}-${String(this.#parts).padStart(4, '0')}.gz`
    await this.store.put(this.prefix + name, await compress(lines, { level: 1 }))
    this.#savedBytes = until
    this.#parts += 1
  }
}

/** Fetches the parts that other hosts saved; those of journals that lie in the folder anyway are left where they are. */
export async function restoreCheckpoints(store: ObjectStore, prefix: string, folder: string): Promise<void> {
  const local = new Set(await readdir(folder))
  for await (const { key } of store.list(prefix)) {
    const part = basename(key, '.gz')
    const journal = part.slice(0, part.lastIndexOf('-'))
    if (local.has(`${journal}.journal`) || local.has(`${part}.journal`)) continue
    await writeFile(join(folder, `${part}.journal`), await decompress(await readBytes(store, key)))
  }
}

async function readStretch(file: string, start: number, end: number): Promise<Buffer> {
  const handle = await open(file)
  try {
    const buffer = Buffer.allocUnsafe(end - start)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start)
    if (bytesRead !== buffer.length) throw new Error(`${file}: shorter than what was synced to it`)
    return buffer
  } finally {
    await handle.close()
  }
}
