import { constants } from 'node:fs'
import { type FileHandle, open, stat, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  KeyIsFolder,
  ObjectCorrupt,
  ObjectNotFound,
  PreconditionFailed,
  RangeNotSatisfiable,
  StoreUnavailable,
} from './errors.ts'
import { listFiles, listLeftoverFiles } from './file-list.ts'
import { breakAbandonedLock } from './file-lock.ts'
import {
  ConditionNotMet,
  copyFileDurably,
  type FileTarget,
  type FileVersion,
  hasCode,
  removeEmptyFolders,
  removeFileDurably,
  versionOf,
  writeFileDurably,
} from './file-write.ts'
import { checkKey, checkPrefix } from './keys.ts'
import { checkRange, singleUse, WatchedSource } from './object-body.ts'
import type {
  CallOptions,
  CollectOptions,
  DurableStore,
  GetOptions,
  Leftover,
  ObjectInfo,
  ObjectRead,
  ObjectStore,
  PutOptions,
} from './store.ts'

const readChunkBytes = 256 * 1024

/**
 * A store in a folder: an object is a file of its key's name. Files are never changed in place, only replaced, so whoever
 * has one open reads on undisturbed.
 */
export class FileStore implements DurableStore {
  readonly uri: string
  readonly #root: string

  /** @param root absolute path; made on the first put. */
  constructor(root: string) {
    this.#root = resolve(root)
    this.uri = pathToFileURL(this.#root).href.replace(/\/$/, '')
  }

  async put(key: string, body: Uint8Array | string, options: PutOptions = {}): Promise<ObjectInfo> {
    return await this.#write(key, options, (target) => writeFileDurably(target, (file) => file.writeFile(body)))
  }

  async putStream(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<ObjectInfo> {
    const source = new WatchedSource(body)
    try {
      return await this.#write(key, options, (target) =>
        writeFileDurably(target, async (file) => {
          for await (const chunk of source.chunks()) {
            options.signal?.throwIfAborted()
            await writeAll(file, chunk)
          }
        }),
      )
    } catch (error) {
      throw source.failure ? source.failure.reason : error
    }
  }

  async get(key: string, { range, ifMatch, signal }: GetOptions = {}): Promise<ObjectRead> {
    checkKey(this.uri, key)
    checkRange(range)
    signal?.throwIfAborted()
    const file = await this.#open(key)
    try {
      const stats = await file.stat({ bigint: true })
      // On a file system without inode numbers of its own a folder can be opened like a file.
      if (!stats.isFile()) throw new ObjectNotFound(this.uri, key)
      const info = { key, ...versionOf(stats) }
      if (ifMatch !== undefined && ifMatch !== info.etag) throw new PreconditionFailed(this.uri, key, { etag: ifMatch })
      if (range && range.start >= info.bytes) throw new RangeNotSatisfiable(this.uri, key, range.start, info.bytes)
      const end = Math.min(range?.end ?? info.bytes, info.bytes)
      const chunks = this.#read(key, file, range?.start ?? 0, end, signal)
      return { ...info, body: singleUse(chunks, () => file.close()) }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async head(key: string, { signal }: CallOptions = {}): Promise<ObjectInfo | undefined> {
    checkKey(this.uri, key)
    signal?.throwIfAborted()
    try {
      const stats = await stat(this.#path(key), { bigint: true })
      return stats.isFile() ? { key, ...versionOf(stats) } : undefined
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
      throw this.#unavailable(key, 'head', error)
    }
  }

  async *list(prefix: string, { signal }: CallOptions = {}): AsyncGenerator<ObjectInfo> {
    checkPrefix(this.uri, prefix)
    yield* listFiles(this.#root, prefix, signal)
  }

  async copy(fromKey: string, toKey: string, options: PutOptions = {}): Promise<ObjectInfo> {
    return await this.#copyFile(this, fromKey, toKey, options)
  }

  async copyFrom(
    source: ObjectStore,
    fromKey: string,
    toKey: string,
    options: PutOptions = {},
  ): Promise<ObjectInfo | undefined> {
    return source instanceof FileStore ? await this.#copyFile(source, fromKey, toKey, options) : undefined
  }

  async delete(key: string, { signal }: CallOptions = {}): Promise<void> {
    checkKey(this.uri, key)
    try {
      await removeFileDurably(this.#path(key), signal)
      await removeEmptyFolders(this.#root, this.#path(key))
    } catch (error) {
      if (hasCode(error, 'EISDIR', 'EPERM') && (await this.#isFolder(key))) return
      throw this.#unavailable(key, 'delete', error)
    }
  }

  async *leftovers(prefix: string, { olderThanMs, signal }: CollectOptions): AsyncGenerator<Leftover> {
    checkPrefix(this.uri, prefix)
    for await (const { path: _, ...leftover } of listLeftoverFiles(this.#root, prefix, olderThanMs, signal))
      yield leftover
  }

  async collectLeftovers(prefix: string, { olderThanMs, signal }: CollectOptions): Promise<Leftover[]> {
    checkPrefix(this.uri, prefix)
    const collected: Leftover[] = []
    for await (const { path, ...leftover } of listLeftoverFiles(this.#root, prefix, olderThanMs, signal)) {
      if (leftover.kind === 'lock' && !(await breakAbandonedLock(path))) continue
      if (leftover.kind !== 'lock') {
        await unlink(path).catch((error) => {
          if (!hasCode(error, 'ENOENT')) throw this.#unavailable(leftover.key, 'collect', error)
        })
      }
      collected.push(leftover)
      await removeEmptyFolders(this.#root, path)
    }
    return collected
  }

  async close(): Promise<void> {}

  async #write(
    key: string,
    options: PutOptions,
    write: (target: FileTarget) => Promise<FileVersion>,
  ): Promise<ObjectInfo> {
    checkKey(this.uri, key)
    options.signal?.throwIfAborted()
    const { onlyIf, signal } = options
    try {
      return { key, ...(await write({ root: this.#root, path: this.#path(key), onlyIf, signal })) }
    } catch (error) {
      if (error instanceof ConditionNotMet) throw new PreconditionFailed(this.uri, key, onlyIf ?? 'absent')
      if (hasCode(error, 'EISDIR', 'ENOTEMPTY')) throw new KeyIsFolder(this.uri, key, key)
      const above = hasCode(error, 'ENOTDIR', 'EEXIST') ? await this.#objectAbove(key) : undefined
      if (above !== undefined) throw new KeyIsFolder(this.uri, key, above)
      throw this.#unavailable(key, 'put', error)
    }
  }

  async #copyFile(source: FileStore, fromKey: string, toKey: string, options: PutOptions): Promise<ObjectInfo> {
    checkKey(source.uri, fromKey)
    const notFound = () => new ObjectNotFound(source.uri, fromKey)
    if (!(await source.head(fromKey, options))) throw notFound()
    return await this.#write(toKey, options, (target) =>
      copyFileDurably(source.#path(fromKey), target).catch((error) => {
        throw hasCode(error, 'ENOENT') ? notFound() : error
      }),
    )
  }

  async #open(key: string): Promise<FileHandle> {
    try {
      // Without blocking: a named pipe that somebody laid there must not hold the reader for ever.
      return await open(this.#path(key), constants.O_RDONLY | constants.O_NONBLOCK)
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) throw new ObjectNotFound(this.uri, key)
      throw this.#unavailable(key, 'get', error)
    }
  }

  async *#read(
    key: string,
    file: FileHandle,
    start: number,
    end: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    for (let at = start; at < end; ) {
      signal?.throwIfAborted()
      const buffer = Buffer.allocUnsafe(Math.min(readChunkBytes, end - at))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at).catch((error) => {
        throw this.#unavailable(key, 'get', error)
      })
      if (bytesRead === 0) throw new ObjectCorrupt(this.uri, key, `it was cut to ${at} bytes while being read`)
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }

  async #isFolder(key: string): Promise<boolean> {
    return (await stat(this.#path(key)).catch(() => undefined))?.isDirectory() ?? false
  }

  async #objectAbove(key: string): Promise<string | undefined> {
    const segments = key.split('/')
    for (let depth = 1; depth < segments.length; depth++) {
      const above = segments.slice(0, depth).join('/')
      if (await this.head(above)) return above
    }
    return undefined
  }

  #path(key: string): string {
    return join(this.#root, key)
  }

  #unavailable(key: string, operation: string, error: unknown): unknown {
    // Only the file system's own errors: an aborted signal or a failing source of a stream keeps its identity.
    const isFromFileSystem = error instanceof Error && 'syscall' in error
    return isFromFileSystem ? new StoreUnavailable(this.uri, key, operation, 1, 0, error) : error
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await file.write(chunk, written, chunk.length - written)).bytesWritten
  }
}
