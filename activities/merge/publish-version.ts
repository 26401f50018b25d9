import type { ObjectStore } from '../../store/store.ts'
import { DatasetDamaged } from './errors.ts'
import type { MergePlan } from './plan-merge.ts'
import { linkCurrent } from './versions/link-current.ts'
import { movePointer, readPointer } from './versions/pointer.ts'
import { readVersion } from './versions/read-version.ts'

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
  const version = await readVersion(store, made.version, made.manifestHash)
  if (!isDone) {
    if (read?.etag !== plan.base?.pointerEtag) return false
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
  await linkCurrent(store, version.manifest)
  return true
}
