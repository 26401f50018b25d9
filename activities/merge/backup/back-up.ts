import type { DatasetFile } from '../../../domain/dataset.ts'
import { mapInOrder } from '../../../shuffle/map-in-order.ts'
import { copyObject } from '../../../store/copy-object.ts'
import { PreconditionFailed } from '../../../store/errors.ts'
import { hashObject } from '../../../store/hash-object.ts'
import { publish } from '../../../store/publish.ts'
import { putJson } from '../../../store/put-json.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { BackupNotVerified, DatasetDamaged } from '../errors.ts'
import { manifestBytes, type ReadVersion } from '../versions/read-version.ts'
import { type BackupSeal, backupFolder, backupKeys } from './backup-place.ts'

export interface BackUpProgress {
  files: number
  bytes: number
}

export interface BackUpOptions {
  readonly dataset: ObjectStore
  /** Where the version's files lie: the dataset itself, unless it was adopted from elsewhere. */
  readonly root: ObjectStore
  readonly backup: ObjectStore
  readonly now: () => number
  readonly signal?: AbortSignal
  onProgress?(progress: BackUpProgress): void
}

/** Files that are copied at the same time. */
const filesAtATime = 4

/**
 * Copies a version, reads every copy again and holds it against the version's manifest. Files that an earlier attempt
 * copied are not copied again, but they are read again. The seal comes last: without it, a back-up is none. Gives the
 * back-up's folder. Throws `DatasetDamaged` when it is the dataset that has changed, and `BackupNotVerified`.
 */
export async function backUp({ manifest, manifestHash }: ReadVersion, options: BackUpOptions): Promise<string> {
  const { dataset, backup, now, signal, onProgress } = options
  const folder = backupFolder(manifest.version, manifestHash)
  const keys = backupKeys(folder)
  const progress = { files: 0, bytes: 0 }
  const copied = mapInOrder([...manifest.files, ...manifest.extras], filesAtATime, async (file) => {
    await backUpFile(file, keys.file(file.key), options)
    return file
  })
  for await (const { bytes } of copied) {
    progress.files += 1
    progress.bytes += bytes
    onProgress?.({ ...progress })
  }
  // The manifest's own bytes, so that its hash holds for the back-up as well.
  await publish(backup, keys.manifest, await manifestBytes(dataset, manifest.version), { signal })
  const { version } = manifest
  const seal: BackupSeal = { dataset: dataset.uri, version, manifestHash, verifiedAt: new Date(now()).toISOString() }
  await putJson(backup, keys.seal, seal, { signal })
  return folder
}

type BackedUpFile = Pick<DatasetFile, 'key' | 'bytes' | 'sha256'>

async function backUpFile(file: BackedUpFile, key: string, options: BackUpOptions): Promise<void> {
  const { root, backup, signal } = options
  if (!(await backup.head(key, { signal }))) await copyFile(file, key, options)
  if ((await hashObject(backup, key, { signal })) === file.sha256) return
  // Either the source is not what it was, or the copy has gone bad: then it is made once more.
  await backup.delete(key, { signal })
  const sourceHash = await hashObject(root, file.key, { signal })
  if (sourceHash !== file.sha256) {
    throw new DatasetDamaged(
      `${root.uri}/${file.key}`,
      `has changed since it became part of the dataset: its SHA-256 is ${sourceHash} instead of ${file.sha256}`,
    )
  }
  await copyFile(file, key, options)
  if ((await hashObject(backup, key, { signal })) === file.sha256) return
  throw new BackupNotVerified(`${backup.uri}/${key}`, `differs from ${root.uri}/${file.key} however often it is copied`)
}

async function copyFile(file: BackedUpFile, key: string, { root, backup, signal }: BackUpOptions): Promise<void> {
  const there = await root.head(file.key, { signal })
  if (!there) throw new DatasetDamaged(`${root.uri}/${file.key}`, 'is gone')
  try {
    await copyObject({ store: root, key: file.key }, { store: backup, key }, { onlyIf: 'absent', signal })
  } catch (error) {
    // Another attempt at the same back-up: what it wrote is read like our own.
    if (!(error instanceof PreconditionFailed)) throw error
  }
}
