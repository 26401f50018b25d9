import { datasetKeys, versionName } from '../../../domain/dataset.ts'
import type { ObjectStore } from '../../../store/store.ts'
import type { MergePlan } from '../plan-merge.ts'
import { abandonVersion } from './claim.ts'
import { linkCurrent } from './link-current.ts'
import { movePointer, type ReadPointer, readPointer } from './pointer.ts'
import { readVersion } from './read-version.ts'
import { checkWhole } from './roll-back.ts'

/** A version that was made, and may not be published yet. */
export interface MadeVersion {
  version: number
  manifestHash: string
}

/**
 * Makes a version the current one, if the base still is. Gives false when another merge was faster: then what was made is
 * removed. Publishing again what was published already is done.
 */
export async function publishVersion(
  store: ObjectStore,
  plan: Pick<MergePlan, 'base'>,
  made: MadeVersion,
  now: () => number,
): Promise<boolean> {
  const read = await readPointer(store)
  const isUnmoved = read?.etag === plan.base?.pointerEtag
  if (isUnmoved) {
    const version = await readVersion(store, made.version, made.manifestHash)
    await checkWhole(version, store)
    const move = { at: new Date(now()).toISOString(), why: 'merged' } as const
    if (await movePointer(store, read, version, move)) {
      await linkCurrent(store, version.manifest)
      return true
    }
    return await publishVersion(store, plan, made, now)
  }
  if (read && wasMovedTo(read, made.version, plan.base?.serial ?? 0)) {
    await linkCurrent(store, (await readVersion(store, read.pointer.version)).manifest)
    return true
  }
  // A version that was current once stays, whatever is current now.
  if (!read || !wasMovedTo(read, made.version, 0)) await discardVersion(store, made.version)
  return false
}

/** The pointer was moved there since it had a serial: an attempt whose answer was lost did its work. */
function wasMovedTo({ pointer: { serial, moves } }: ReadPointer, version: number, since: number): boolean {
  return moves.slice(-Math.max(0, serial - since)).some(({ to }) => to === version) && serial > since
}

/** Removes a version that never was current. Its number stays taken. */
async function discardVersion(store: ObjectStore, version: number): Promise<void> {
  await abandonVersion(store, version, 'another merge was faster')
  await store.delete(datasetKeys.manifest(version))
  const kept: readonly string[] = [datasetKeys.claim(version), datasetKeys.abandoned(version)]
  for await (const { key } of store.list(`${versionName(version)}/`)) {
    if (!kept.includes(key)) await store.delete(key)
  }
}
