import { lstat, readlink, rename, symlink, unlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type DatasetManifest, versionName } from '../../../domain/dataset.ts'
import { parseStoreUri } from '../../../store/open-store.ts'
import type { ObjectStore } from '../../../store/store.ts'

/**
 * On a file system, `current` leads to the files of the current version, for trainers that want a path. The pointer is the
 * truth: a link that a crash left behind is put right by the next step. A version that was adopted where it lies has
 * no folder of its own, so there is no link to it; it would lead to itself.
 */
export async function linkCurrent(store: ObjectStore, manifest: DatasetManifest): Promise<void> {
  const location = parseStoreUri(store.uri)
  if (location.kind !== 'file') return
  const link = join(location.path, 'current')
  const target = targetOf(manifest, location.path)
  const there = await readlink(link).catch(() => undefined)
  if (there === target) return
  // Something that is no link is somebody else's.
  if (there === undefined && (await lstat(link).catch(() => undefined))) return
  if (target === undefined) {
    await unlink(link)
    return
  }
  const draft = `${join(location.path, '.current')}.${process.pid}.${Math.trunc(performance.now() * 1000)}`
  await symlink(target, draft)
  await rename(draft, link)
}

function targetOf({ version, root, files }: DatasetManifest, folder: string): string | undefined {
  if (root !== undefined) {
    const location = parseStoreUri(root)
    return location.kind === 'file' ? relative(folder, location.path) || undefined : undefined
  }
  const own = `${versionName(version)}/`
  return files.every(({ key }) => key.startsWith(own)) ? versionName(version) : undefined
}
