import { once } from 'node:events'
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'
import { type Compression, type DatasetFile, datasetKeys } from '../../domain/dataset.ts'
import { hashObject } from '../../store/hash-object.ts'
import { publish } from '../../store/publish.ts'
import type { ObjectStore } from '../../store/store.ts'
import { DatasetDamaged } from './errors.ts'

export interface PartOptions {
  store: ObjectStore
  version: number
  /** Local folder for the part that is being written. */
  folder: string
  compression: Compression
  /** Bytes of all parts together and aim for one of them, before compression: what balances the parts. */
  totalBytes: number
  fileBytes: number
  signal?: AbortSignal
}

const extensions: Record<Compression, string> = { none: '.jsonl', gzip: '.jsonl.gz' }
/** Near the best size at a third of the time of the default level. */
const gzipLevel = 4

/** Writes rows into files of about equal size, each write-once and read back before it counts. */
export class PartWriter {
  readonly files: DatasetFile[] = []
  readonly #partBytes: number
  #written = 0
  #rows = 0
  #output: { file: string; head: Gzip | WriteStream; disk: WriteStream } | undefined

  constructor(private readonly options: PartOptions) {
    const parts = Math.max(1, Math.round(options.totalBytes / options.fileBytes))
    this.#partBytes = options.totalBytes / parts
  }

  /** Rows in their final order, newlines included. */
  async add(bytes: Uint8Array, lengths: Uint32Array): Promise<void> {
    let start = 0
    let end = 0
    for (const length of lengths) {
      end += length
      this.#rows += 1
      if (this.#written + (end - start) < this.#partBytes * (this.files.length + 1)) continue
      await this.#write(bytes.subarray(start, end))
      start = end
      await this.#closePart()
    }
    if (end > start) await this.#write(bytes.subarray(start, end))
  }

  async finish(): Promise<DatasetFile[]> {
    if (this.#output) await this.#closePart()
    return this.files
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#output ??= this.#open()
    this.#written += bytes.length
    const { head } = this.#output
    if (!head.write(bytes)) await once(head, 'drain')
  }

  #open() {
    const file = join(this.options.folder, 'part')
    const disk = createWriteStream(file)
    if (this.options.compression === 'none') return { file, head: disk, disk }
    const head = createGzip({ level: gzipLevel })
    head.pipe(disk)
    return { file, head, disk }
  }

  async #closePart(): Promise<void> {
    if (!this.#output) return
    const { store, version, compression, signal } = this.options
    const { file, head, disk } = this.#output
    head.end()
    await finished(disk)
    const key = datasetKeys.part(version, this.files.length, extensions[compression])
    const { info, sha256 } = await publish(store, key, createReadStream(file), { signal })
    if ((await hashObject(store, key, { signal })) !== sha256) {
      throw new DatasetDamaged(`${store.uri}/${key}`, 'does not hold what was written to it')
    }
    this.files.push({ key, rows: this.#rows, bytes: info.bytes, sha256 })
    this.#rows = 0
    this.#output = undefined
  }
}
