import { versionName } from '../../../domain/dataset.ts'
import type { ObjectStore, OpenStore } from '../../../store/store.ts'
import { DatasetDamaged, NotADataset, PointerMoved } from '../errors.ts'
import { linkCurrent } from './link-current.ts'
import { movePointer, readPointer } from './pointer.ts'
import { type ReadVersion, readManifest, rootOf } from './read-version.ts'

export interface RollBackOptions {
  readonly openStore: OpenStore
  /** Left out: the version that was current before this one. */
  readonly to?: number
  readonly now: () => number
}

/**
 * Makes an earlier version the current one again. Nothing is removed: it can be rolled forward as well. Throws
 * `NotADataset`, `DatasetDamaged` when that version is not whole any more, and `PointerMoved`.
 */
export async function rollBack(dataset: ObjectStore, options: RollBackOptions): Promise<ReadVersion> {
  const read = await readPointer(dataset)
  if (!read) throw new NotADataset(dataset.uri, 'has no versions')
  const { version: current, moves } = read.pointer
  const to = options.to ?? moves.findLast((move) => move.to === current)?.from
  if (to === undefined) throw new NotADataset(dataset.uri, `has no version before ${versionName(current)}`)
  const target = await readManifest(dataset, `${versionName(to)}/manifest.json`)
  if (!target) throw new NotADataset(dataset.uri, `has no version ${to}`)
  await checkWhole(target, rootOf(target.manifest, dataset, options.openStore))
  if (target.manifestHash !== read.pointer.manifestHash) {
    const move = { at: new Date(options.now()).toISOString(), why: 'rolled back' } as const
    if (!(await movePointer(dataset, read, target, move))) throw new PointerMoved(dataset.uri)
  }
  await linkCurrent(dataset, target.manifest)
  return target
}

/** Every file of a version is there, and as large as it should be. */
export async function checkWhole({ manifest }: ReadVersion, root: ObjectStore): Promise<void> {
  for (const { key, bytes } of [...manifest.files, ...manifest.extras]) {
    const info = await root.head(key)
    if (info?.bytes === bytes) continue
    const problem = info ? `has ${info.bytes} bytes instead of ${bytes}` : 'is gone'
    throw new DatasetDamaged(`${root.uri}/${key}`, problem)
  }
}
