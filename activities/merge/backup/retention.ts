import type { ObjectStore } from '../../../store/store.ts'
import { backupKeys, type FoundBackup, listBackups } from './backup-place.ts'

/**
 * Removes old back-ups of a dataset, so that the `keep` newest good ones are left. Back-ups that are not whole do not count
 * towards those, and are left to whoever looks into why. Gives the folders that were removed.
 */
export async function removeOldBackups(backup: ObjectStore, dataset: string, keep: number): Promise<string[]> {
  const mine = (await listBackups(backup)).filter(({ seal }) => seal.dataset === dataset)
  const old = backupsToRemove(mine, keep)
  for (const { folder, manifest } of old) {
    const keys = backupKeys(folder)
    // The seal first: should this be broken off, what is left claims to be nothing.
    await backup.delete(keys.seal)
    for (const { key } of [...manifest.files, ...manifest.extras]) await backup.delete(keys.file(key))
    await backup.delete(keys.manifest)
  }
  return old.map(({ folder }) => folder)
}

/** Of back-ups, the newest first, those that are one too many. The last good one never is. */
export function backupsToRemove<Backup extends Pick<FoundBackup, 'isWhole'>>(
  backups: readonly Backup[],
  keep: number,
): Backup[] {
  return backups.filter(({ isWhole }) => isWhole).slice(Math.max(1, keep))
}
