import { createHash } from 'node:crypto'
import {
  type Compression,
  type DatasetFile,
  type DatasetManifest,
  type DatasetPointer,
  datasetKeys,
  datasetLayout,
  type PointerMove,
} from '../../domain/dataset.ts'
import { ObjectNotFound, PreconditionFailed } from '../../store/errors.ts'
import { putJson } from '../../store/put-json.ts'
import { readBytes, readJsonVersion } from '../../store/read-object.ts'
import type { CallOptions, ObjectStore } from '../../store/store.ts'
import { forEachRow, type ReadFacts, readBlocks } from './data-file.ts'
import { DatasetDamaged } from './errors.ts'

/** The pointer as it was read: its etag is what a move of it must name. */
export interface ReadPointer {
  pointer: DatasetPointer
  etag: string
}

/** A version as it was read. */
export interface ReadVersion {
  manifest: DatasetManifest
  /** SHA-256 of the manifest's bytes. */
  manifestHash: string
}

export async function readPointer(store: ObjectStore, options?: CallOptions): Promise<ReadPointer | undefined> {
  try {
    const { value, info } = await readJsonVersion(store, datasetKeys.pointer, checkedPointer, options)
    return { pointer: value, etag: info.etag }
  } catch (error) {
    if (error instanceof ObjectNotFound) return undefined
    throw error
  }
}

function checkedPointer(value: unknown): DatasetPointer {
  const pointer = value as DatasetPointer
  if (pointer.layout !== datasetLayout) throw new Error(`layout ${pointer.layout} is not known to this release`)
  return pointer
}

/** The manifest of a version, held against the hash that the pointer (or a record) gives. Throws `DatasetDamaged`. */
export async function readVersion(store: ObjectStore, version: number, expectedHash?: string): Promise<ReadVersion> {
  const key = datasetKeys.manifest(version)
  const bytes = await readBytes(store, key)
  const manifestHash = createHash('sha256').update(bytes).digest('hex')
  if (expectedHash !== undefined && expectedHash !== manifestHash) {
    throw new DatasetDamaged(`${store.uri}/${key}`, `has changed: its SHA-256 is ${manifestHash}, not ${expectedHash}`)
  }
  return { manifest: JSON.parse(bytes.toString('utf8')) as DatasetManifest, manifestHash }
}

const mostMoves = 200

/**
 * Moves the pointer, if it still is where it was read. Gives false when somebody else moved it; having moved it before, in
 * an attempt whose answer was lost, counts as done.
 */
export async function movePointer(
  store: ObjectStore,
  read: ReadPointer | undefined,
  target: ReadVersion,
  move: Pick<PointerMove, 'at' | 'why'>,
): Promise<boolean> {
  const { version } = target.manifest
  const from = read?.pointer.version
  const pointer: DatasetPointer = {
    layout: datasetLayout,
    version,
    manifest: datasetKeys.manifest(version),
    manifestHash: target.manifestHash,
    moves: [...(read?.pointer.moves ?? []), { ...(from !== undefined && { from }), to: version, ...move }].slice(
      -mostMoves,
    ),
  }
  try {
    await putJson(store, datasetKeys.pointer, pointer, { onlyIf: read ? { etag: read.etag } : 'absent' })
    return true
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
    return false
  }
}

const jsonLines = /\.(jsonl|ndjson|json)(\.gz)?$/i
const ownVersion = /^v\d{4,}\//

/** Makes version 1 of the files that lie in a folder or under a prefix, without touching them. Nothing when there are none. */
export async function adoptInPlace(
  store: ObjectStore,
  now: () => number,
  onFile: (key: string) => void,
): Promise<ReadVersion | undefined> {
  const files: DatasetFile[] = []
  let compression: Compression = 'none'
  for await (const { key } of store.list('')) {
    if (!jsonLines.test(key) || ownVersion.test(key) || key === datasetKeys.pointer) continue
    onFile(key)
    compression = compressionOf(key)
    files.push({ key, ...(await countRows(store, key)) })
  }
  if (files.length === 0) return undefined
  const manifest: DatasetManifest = {
    layout: datasetLayout,
    version: 1,
    createdAt: new Date(now()).toISOString(),
    format: 'jsonl',
    compression,
    rows: files.reduce((sum, file) => sum + file.rows, 0),
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    files,
    runs: [],
  }
  await putManifest(store, manifest)
  const version = await readVersion(store, 1)
  await movePointer(store, undefined, version, { at: version.manifest.createdAt, why: 'adopted' })
  return version
}

/** Writes the manifest of a version, unless one is there: the first one counts. */
export async function putManifest(store: ObjectStore, manifest: DatasetManifest): Promise<void> {
  try {
    await putJson(store, datasetKeys.manifest(manifest.version), manifest, { onlyIf: 'absent' })
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
  }
}

export function compressionOf(key: string): Compression {
  return /\.gz$/i.test(key) ? 'gzip' : 'none'
}

async function countRows(store: ObjectStore, key: string): Promise<Omit<DatasetFile, 'key'>> {
  let rows = 0
  let facts: ReadFacts = { bytes: 0, sha256: '' }
  const blocks = readBlocks({ store, key, compression: compressionOf(key) }, adoptSizes, {
    onRead: (read) => {
      facts = read
    },
  })
  for await (const block of blocks) forEachRow(block, () => rows++)
  return { rows, ...facts }
}

const adoptSizes = { blockBytes: 4 * 1024 * 1024, maxRowBytes: 256 * 1024 * 1024 }
