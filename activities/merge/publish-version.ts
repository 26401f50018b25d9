import { readlink, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { versionName } from '../../domain/dataset.ts'
import { parseStoreUri } from '../../store/open-store.ts'
import type { ObjectStore } from '../../store/store.ts'
import { movePointer, readPointer, readVersion } from './datasets.ts'
import { DatasetDamaged } from './errors.ts'
import type { MergePlan } from './plan-merge.ts'

/**
 * Makes a version the current one, if the base still is. Gives false when another merge was faster. Publishing again what
 * is current already is done.
 */
export async function publishVersion(
  store: ObjectStore,
  plan: MergePlan,
  made: { version: number; manifestHash: string },
  now: () => number,
): Promise<boolean> {
  const read = await readPointer(store)
  const isDone = read?.pointer.manifestHash === made.manifestHash
  if (!isDone) {
    if (read?.etag !== plan.base?.pointerEtag) return false
    const version = await readVersion(store, made.version, made.manifestHash)
    for (const file of version.manifest.files) {
      const info = await store.head(file.key)
      if (info?.bytes !== file.bytes) {
        throw new DatasetDamaged(
          `${store.uri}/${file.key}`,
          info ? 'has another size than when it was written' : 'is gone',
        )
      }
    }
    const move = { at: new Date(now()).toISOString(), why: 'merged' } as const
    if (!(await movePointer(store, read, version, move))) return false
  }
  await linkCurrent(store, made.version)
  return true
}

/** On a file system, `current` leads to the current version: for trainers that want a path. The pointer is the truth. */
async function linkCurrent(store: ObjectStore, version: number): Promise<void> {
  const location = parseStoreUri(store.uri)
  if (location.kind !== 'file') return
  const link = join(location.path, 'current')
  const target = versionName(version)
  if ((await readlink(link).catch(() => undefined)) === target) return
  const draft = `${link}.${process.pid}.${performance.now()}`
  await symlink(target, draft)
  await rename(draft, link)
}
