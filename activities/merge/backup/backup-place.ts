import { type DatasetManifest, versionName } from '../../../domain/dataset.ts'
import { readJson } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { readManifest } from '../versions/read-version.ts'

/** `backup.json`: written last, so its presence says that the back-up is whole and was verified. */
export interface BackupSeal {
  /** URI of the dataset. */
  dataset: string
  version: number
  manifestHash: string
  /** ISO 8601. */
  verifiedAt: string
}

/** Where the parts of a back-up lie, relative to the store for back-ups. */
export function backupKeys(folder: string) {
  return {
    seal: `${folder}/backup.json`,
    manifest: `${folder}/manifest.json`,
    file: (key: string) => `${folder}/files/${key}`,
  }
}

/** Versions of one number can differ where datasets share a place for back-ups: the hash tells them apart. */
export function backupFolder(version: number, manifestHash: string): string {
  return `${versionName(version)}-${manifestHash.slice(0, 12)}`
}

/** A back-up that is there. */
export interface FoundBackup {
  readonly folder: string
  readonly seal: BackupSeal
  readonly manifest: DatasetManifest
  /** All its files are there, and as large as they should be. */
  readonly isWhole: boolean
}

const sealKey = /^(v\d+-[0-9a-f]{12})\/backup\.json$/

/** All sealed back-ups, the newest first. */
export async function listBackups(backup: ObjectStore): Promise<FoundBackup[]> {
  const sizes = new Map<string, number>()
  const folders: string[] = []
  for await (const { key, bytes } of backup.list('')) {
    sizes.set(key, bytes)
    const [, folder] = sealKey.exec(key) ?? []
    if (folder !== undefined) folders.push(folder)
  }
  const found: FoundBackup[] = []
  for (const folder of folders) {
    const keys = backupKeys(folder)
    const read = await readManifest(backup, keys.manifest)
    if (!read) continue
    const { manifest, manifestHash } = read
    const seal = await readJson<BackupSeal>(backup, keys.seal)
    const files = [...manifest.files, ...manifest.extras]
    const isWhole =
      manifestHash === seal.manifestHash && files.every(({ key, bytes }) => sizes.get(keys.file(key)) === bytes)
    found.push({ folder, seal, manifest, isWhole })
  }
  return found.sort((a, b) => (a.seal.verifiedAt < b.seal.verifiedAt ? 1 : -1))
}
