import { type DatasetFile, datasetKeys, versionName } from '../../domain/dataset.ts'
import { copyObject } from '../../store/copy-object.ts'
import { PreconditionFailed } from '../../store/errors.ts'
import { hashObject } from '../../store/hash-object.ts'
import { publish } from '../../store/publish.ts'
import { readBytes } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { BackupNotVerified, DatasetDamaged } from './errors.ts'
import type { ReadVersion } from './versions/read-version.ts'

export interface BackUpProgress {
  files: number
  bytes: number
}

export interface BackUpOptions {
  dataset: ObjectStore
  /** Where the version's files lie: the dataset itself, unless it was adopted from elsewhere. */
  root: ObjectStore
  backup: ObjectStore
  signal?: AbortSignal
  onProgress(progress: BackUpProgress): void
}

/**
 * Copies a version, reads every copy again and holds it against the version's manifest. Files that an earlier attempt
 * copied are not copied again, but they are read again. The manifest is written last: it says that the back-up is verified.
 */
export async function backUp({ manifest, manifestHash }: ReadVersion, options: BackUpOptions): Promise<void> {
  const { dataset, root, backup, signal, onProgress } = options
  const progress = { files: 0, bytes: 0 }
  const folder = backupFolder(manifest.version, manifestHash)
  for (const file of manifest.files) {
    await backUpFile(file, root, backup, `${folder}/files/${file.key}`, signal)
    progress.files += 1
    progress.bytes += file.bytes
    onProgress({ ...progress })
  }
  // The manifest's own bytes, so that its hash holds for the back-up as well.
  await publish(backup, `${folder}/manifest.json`, await readBytes(dataset, datasetKeys.manifest(manifest.version)))
}

/** Versions of one number can differ where datasets share a place for back-ups: the hash tells them apart. */
export function backupFolder(version: number, manifestHash: string): string {
  return `${versionName(version)}-${manifestHash.slice(0, 12)}`
}

async function backUpFile(
  file: DatasetFile,
  root: ObjectStore,
  backup: ObjectStore,
  key: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!(await backup.head(key, { signal }))) {
    try {
      await copyObject({ store: root, key: file.key }, { store: backup, key }, { onlyIf: 'absent', signal })
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error
    }
  }
  if ((await hashObject(backup, key, { signal })) === file.sha256) return
  const sourceHash = await hashObject(root, file.key, { signal })
  if (sourceHash !== file.sha256) {
    throw new DatasetDamaged(
      `${root.uri}/${file.key}`,
      `has changed since it became part of the dataset: its SHA-256 is ${sourceHash} instead of ${file.sha256}`,
    )
  }
  throw new BackupNotVerified(`${backup.uri}/${key}`, `differs from ${root.uri}/${file.key}`)
}
