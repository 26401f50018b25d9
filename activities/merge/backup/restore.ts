import { type DatasetFile, type DatasetManifest, versionName } from '../../../domain/dataset.ts'
import { copyObject } from '../../../store/copy-object.ts'
import { hashObject } from '../../../store/hash-object.ts'
import { publish } from '../../../store/publish.ts'
import { readBytes } from '../../../store/read-object.ts'
import type { CallOptions, ObjectStore, OpenStore } from '../../../store/store.ts'
import { BackupNotVerified, DatasetDamaged, PointerMoved } from '../errors.ts'
import { linkCurrent } from '../versions/link-current.ts'
import { movePointer, readPointer } from '../versions/pointer.ts'
import { putManifest, type ReadVersion, readManifest, rootOf } from '../versions/read-version.ts'
import { backupKeys, type FoundBackup, listBackups } from './backup-place.ts'

export interface RestoreOptions extends CallOptions {
  /** Where the version is to be: its own dataset, or another place. */
  readonly target: ObjectStore
  readonly backup: ObjectStore
  readonly openStore: OpenStore
  readonly version: number
  /** Files that Longhaul did not write may be overwritten as well. */
  readonly mayOverwrite: boolean
  readonly now: () => number
  onFile?(key: string, wasMissing: boolean): void
}

/**
 * Brings a version back from its back-up and makes it the current one. Files that are there and as they should be are left
 * alone; every file that is brought back is read again. Throws `BackupNotVerified`, `DatasetDamaged` and `PointerMoved`.
 */
export async function restore(options: RestoreOptions): Promise<ReadVersion> {
  const { target, backup, version, now } = options
  const found = await findBackup(backup, version)
  const isAtHome = found.seal.dataset === target.uri
  const root = isAtHome ? rootOf(found.manifest, target, options.openStore) : target
  for (const file of [...found.manifest.files, ...found.manifest.extras]) await restoreFile(file, root, found, options)
  const restored = await restoreManifest(found, isAtHome, options)
  const read = await readPointer(target)
  if (read?.pointer.manifestHash !== restored.manifestHash) {
    const move = { at: new Date(now()).toISOString(), why: 'restored' } as const
    if (!(await movePointer(target, read, restored, move))) throw new PointerMoved(target.uri)
  }
  await linkCurrent(target, restored.manifest)
  return restored
}

async function findBackup(backup: ObjectStore, version: number): Promise<FoundBackup> {
  const all = (await listBackups(backup)).filter((found) => found.manifest.version === version)
  const [whole] = all.filter(({ isWhole }) => isWhole)
  if (whole) return whole
  const problem = all.length > 0 ? 'is not whole' : 'does not exist'
  throw new BackupNotVerified(`${backup.uri}/${versionName(version)}-…`, problem)
}

const ownFile = /^v\d{4,}\//

async function restoreFile(
  file: Pick<DatasetFile, 'key' | 'sha256'>,
  root: ObjectStore,
  { folder }: FoundBackup,
  { backup, mayOverwrite, signal, onFile }: RestoreOptions,
): Promise<void> {
  const there = await root.head(file.key, { signal })
  if (there && (await hashObject(root, file.key, { signal })) === file.sha256) return
  if (there && !mayOverwrite && !ownFile.test(file.key)) {
    throw new DatasetDamaged(
      `${root.uri}/${file.key}`,
      'differs from the back-up and was not written by Longhaul, so it is not overwritten unless that is asked for',
    )
  }
  await copyObject(
    { store: backup, key: backupKeys(folder).file(file.key) },
    { store: root, key: file.key },
    { signal },
  )
  if ((await hashObject(root, file.key, { signal })) !== file.sha256) {
    throw new BackupNotVerified(`${backup.uri}/${backupKeys(folder).file(file.key)}`, 'is damaged')
  }
  onFile?.(file.key, there === undefined)
}

/** The very bytes of the manifest, except where the files lie elsewhere now. */
async function restoreManifest(
  { folder, manifest }: FoundBackup,
  isAtHome: boolean,
  { target, backup }: RestoreOptions,
): Promise<ReadVersion> {
  if (!isAtHome && manifest.root !== undefined) {
    const { root: _, ...moved } = manifest
    return await putManifest(target, moved satisfies DatasetManifest)
  }
  const key = `${versionName(manifest.version)}/manifest.json`
  await publish(target, key, await readBytes(backup, backupKeys(folder).manifest))
  const restored = await readManifest(target, key)
  if (!restored) throw new DatasetDamaged(`${target.uri}/${key}`, 'is gone')
  return restored
}
