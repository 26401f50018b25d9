import { createHash } from 'node:crypto'
import { type DatasetManifest, datasetKeys, datasetLayout } from '../../../domain/dataset.ts'
import { ObjectNotFound, PreconditionFailed } from '../../../store/errors.ts'
import { putJson } from '../../../store/put-json.ts'
import { readBytes } from '../../../store/read-object.ts'
import type { ObjectStore, OpenStore } from '../../../store/store.ts'
import { DatasetDamaged } from '../errors.ts'
import { type ReadPointer, readPointer } from './pointer.ts'

/** A version as it was read. */
export interface ReadVersion {
  readonly manifest: DatasetManifest
  /** SHA-256 of the manifest's bytes. */
  readonly manifestHash: string
}

/** The manifest of a version, held against the hash that the pointer (or a record) gives. Throws `DatasetDamaged`. */
export async function readVersion(store: ObjectStore, version: number, expectedHash?: string): Promise<ReadVersion> {
  const read = await readManifest(store, datasetKeys.manifest(version))
  const uri = `${store.uri}/${datasetKeys.manifest(version)}`
  if (!read) throw new DatasetDamaged(uri, 'is gone')
  if (expectedHash !== undefined && expectedHash !== read.manifestHash) {
    throw new DatasetDamaged(uri, `has changed: its SHA-256 is ${read.manifestHash}, not ${expectedHash}`)
  }
  return read
}

/** A manifest, wherever it lies; undefined where there is none. */
export async function readManifest(store: ObjectStore, key: string): Promise<ReadVersion | undefined> {
  const bytes = await readBytes(store, key).catch((error: unknown) => {
    if (error instanceof ObjectNotFound) return undefined
    throw error
  })
  if (!bytes) return undefined
  const manifest = parsed(bytes, `${store.uri}/${key}`)
  return { manifest, manifestHash: createHash('sha256').update(bytes).digest('hex') }
}

function parsed(bytes: Buffer, uri: string): DatasetManifest {
  let manifest: DatasetManifest
  try {
    manifest = JSON.parse(bytes.toString('utf8')) as DatasetManifest
  } catch (error) {
    throw new DatasetDamaged(uri, `is no JSON (${(error as Error).message})`)
  }
  if (manifest.layout === datasetLayout) return manifest
  throw new DatasetDamaged(uri, `has layout ${manifest.layout}, which this release does not know`)
}

/** The bytes of a version's manifest. */
export async function manifestBytes(store: ObjectStore, version: number): Promise<Uint8Array> {
  return await readBytes(store, datasetKeys.manifest(version))
}

/** The current version with its pointer; undefined where there is none. */
export async function readCurrent(store: ObjectStore): Promise<(ReadVersion & { read: ReadPointer }) | undefined> {
  const read = await readPointer(store)
  if (!read) return undefined
  const { version, manifestHash } = read.pointer
  return { ...(await readVersion(store, version, manifestHash)), read }
}

/** Writes the manifest of a version, unless one is there: the first one counts. */
export async function putManifest(store: ObjectStore, manifest: DatasetManifest): Promise<ReadVersion> {
  try {
    await putJson(store, datasetKeys.manifest(manifest.version), manifest, { onlyIf: 'absent' })
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
  }
  return await readVersion(store, manifest.version)
}

/** Where the files of a version lie: the dataset itself, unless it was adopted from elsewhere. */
export function rootOf({ root }: DatasetManifest, dataset: ObjectStore, openStore: OpenStore): ObjectStore {
  return root === undefined ? dataset : openStore(root)
}
