import { createHash, type Hash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ByteReader, openFile, readerOf } from '../../formats/byte-reader.ts'
import type { SourceFile } from '../../formats/places/source-file.ts'
import { parseStoreUri } from '../../store/open-store.ts'
import type { ObjectStore } from '../../store/store.ts'
import { DatasetDamaged } from './errors.ts'

/** A file of a dataset or a run, as the records describe it. */
export interface DataFile {
  readonly store: ObjectStore
  readonly key: string
  readonly bytes: number
  /** What its SHA-256 must be; left out where nobody knows yet. */
  readonly sha256?: string
}

export interface VerifiedReading {
  /** Where a file is kept that has to be read at any place. */
  readonly spool: string
  readonly signal?: AbortSignal
  onBytes?(bytes: number): void
  /** Told the SHA-256 and size of what was read, at its end. */
  onEnd?(facts: { bytes: number; sha256: string }): void
}

/**
 * A file as the readers of formats want it. Its bytes are hashed as they are read: a file that is not what the records say
 * throws `DatasetDamaged` at its end at the latest, before anybody can take its rows for good.
 */
export function verifiedFile(file: DataFile, reading: VerifiedReading): SourceFile {
  const uri = uriOf(file)
  return {
    uri,
    name: basename(file.key),
    bytes: file.bytes,
    version: file.sha256 ?? '',
    open: async () => {
      const path = localPathOf(file)
      return path === undefined ? readerOf(verifiedChunks(file, reading)) : await localReader(path, file, reading)
    },
    localPath: async () => {
      const path = localPathOf(file)
      if (path !== undefined) {
        await readThrough(await localReader(path, file, reading))
        return path
      }
      await mkdir(dirname(reading.spool), { recursive: true })
      await pipeline(Readable.from(verifiedChunks(file, reading)), createWriteStream(reading.spool))
      return reading.spool
    },
  }
}

export function uriOf({ store, key }: DataFile): string {
  return `${store.uri}/${key}`
}

/** Where a file of a file store lies: reading it there saves handing over each chunk in memory of its own. */
function localPathOf({ store, key }: DataFile): string | undefined {
  const location = parseStoreUri(store.uri)
  return location.kind === 'file' ? join(location.path, key) : undefined
}

async function localReader(
  path: string,
  file: DataFile,
  { signal, onBytes, onEnd }: VerifiedReading,
): Promise<ByteReader> {
  const reader = await openFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new DatasetDamaged(uriOf(file), 'is gone')
    throw error
  })
  const hash = createHash('sha256')
  let bytes = 0
  let isAtEnd = false
  return {
    close: () => reader.close(),
    async read(target: Uint8Array): Promise<number> {
      signal?.throwIfAborted()
      const read = await reader.read(target)
      if (read > 0) {
        hash.update(target.subarray(0, read))
        bytes += read
        onBytes?.(read)
      } else if (!isAtEnd) {
        isAtEnd = true
        onEnd?.(checked(file, bytes, hash))
      }
      return read
    },
  }
}

async function readThrough(reader: ByteReader): Promise<void> {
  const target = Buffer.allocUnsafeSlow(1024 * 1024)
  try {
    while ((await reader.read(target)) > 0);
  } finally {
    await reader.close()
  }
}

async function* verifiedChunks(
  file: DataFile,
  { signal, onBytes, onEnd }: VerifiedReading,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let bytes = 0
  const { body } = await file.store.get(file.key, { signal })
  for await (const chunk of body) {
    hash.update(chunk)
    bytes += chunk.length
    onBytes?.(chunk.length)
    yield chunk
  }
  onEnd?.(checked(file, bytes, hash))
}

function checked(file: DataFile, bytes: number, hash: Hash): { bytes: number; sha256: string } {
  const sha256 = hash.digest('hex')
  if (bytes !== file.bytes) {
    throw new DatasetDamaged(uriOf(file), `has ${bytes} bytes instead of ${file.bytes}`)
  }
  if (file.sha256 !== undefined && sha256 !== file.sha256) {
    throw new DatasetDamaged(uriOf(file), `has changed: its SHA-256 is ${sha256} instead of ${file.sha256}`)
  }
  return { bytes, sha256 }
}
