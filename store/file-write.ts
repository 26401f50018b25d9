import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, type FileHandle, link, mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type HeldLock, lockFile } from './file-lock.ts'
import { ownNamePrefix } from './keys.ts'
import { ownProcessMark } from './process-mark.ts'

export const temporaryPrefix = `${ownNamePrefix}tmp-`
export const lockPrefix = `${ownNamePrefix}lock-`

/** What `stat` says of one version of a file. A file of the store is never changed in place, only replaced. */
export interface FileVersion {
  bytes: number
  etag: string
  modifiedAt: Date
}

/** The condition of a put did not hold; nothing was changed. */
export class ConditionNotMet extends Error {}

/** Where a written file goes: `path` under `root`, on `onlyIf`'s condition. */
export interface FileTarget {
  root: string
  path: string
  onlyIf?: 'absent' | { readonly etag: string }
  signal?: AbortSignal
}

/**
 * Writes a whole file: beside its place under a hidden name, made durable, and then put in place in one step. Whoever is
 * killed meanwhile leaves at most the hidden file behind.
 */
export async function writeFileDurably(
  target: FileTarget,
  fill: (temporary: FileHandle, temporaryPath: string) => Promise<void>,
): Promise<FileVersion> {
  const folder = dirname(target.path)
  const temporaryPath = join(folder, `${temporaryPrefix}${ownProcessMark()}.${randomBytes(6).toString('hex')}`)
  // From here on the folder stays: it is not empty any more.
  const temporary = await inFolder(target.root, folder, () => open(temporaryPath, 'wx'))
  try {
    const version = await fill(temporary, temporaryPath)
      .then(() => sealed(temporary))
      .finally(() => temporary.close())
    target.signal?.throwIfAborted()
    await putInPlace(temporaryPath, target)
    await syncFolder(folder)
    return version
  } catch (error) {
    await unlink(temporaryPath).catch(() => {})
    throw error
  }
}

/** Like `writeFileDurably`, from another file; a file system that can share blocks between files does so. */
export async function copyFileDurably(source: string, target: FileTarget): Promise<FileVersion> {
  return await writeFileDurably(target, async (temporary, temporaryPath) => {
    const { mode } = await temporary.stat()
    await copyFile(source, temporaryPath, constants.COPYFILE_FICLONE)
    // Copying takes the mode along; a source that is protected against writing is no reason to protect its copy.
    await temporary.chmod(mode)
  })
}

/** Removes a file; absent is well. */
export async function removeFileDurably(path: string, signal?: AbortSignal): Promise<void> {
  try {
    await underLock(path, signal, async (lock) => {
      if (!lock.isStillOwn()) return false
      await unlink(path)
      return true
    })
    await syncFolder(dirname(path))
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error
  }
}

/** Removes the folders above a removed file that are empty now, but not the root. */
export async function removeEmptyFolders(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder.length > root.length; folder = dirname(folder)) {
    durableFolders.delete(folder)
    const isRemoved = await rmdir(folder).then(
      () => true,
      () => false,
    )
    if (!isRemoved) return
  }
}

/**
 * Tag of a version: which file, how large, when written. An inode is given to a new file only after the old one is gone,
 * and `stampUniquely` sets times that differ whenever two writes are a microsecond apart, so no two versions share a tag.
 */
export function versionOf(stats: { ino: bigint; size: bigint; mtimeNs: bigint }): FileVersion {
  return {
    bytes: Number(stats.size),
    etag: [stats.ino, stats.size, stats.mtimeNs].map((number) => number.toString(36)).join('-'),
    modifiedAt: new Date(Number(stats.mtimeNs / 1_000_000n)),
  }
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

async function putInPlace(temporaryPath: string, { path, onlyIf, signal }: FileTarget): Promise<void> {
  if (onlyIf === 'absent' && (await linkedWhereAbsent(temporaryPath, path))) {
    await unlink(temporaryPath)
    return
  }
  await underLock(path, signal, async (lock) => {
    const current = await currentVersion(path)
    const holds = onlyIf === undefined || (onlyIf === 'absent' ? !current : current?.etag === onlyIf.etag)
    if (!holds) throw new ConditionNotMet()
    if (!lock.isStillOwn()) return false
    await rename(temporaryPath, path)
    return true
  })
}

/** False where the file system knows no hard links; the lock has to do there. */
async function linkedWhereAbsent(temporaryPath: string, path: string): Promise<boolean> {
  try {
    await link(temporaryPath, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) {
      if ((await stat(path).catch(() => undefined))?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
      // Whoever is told that an object is there relies on it: it must not vanish because its writer had not synced yet.
      await syncFolder(dirname(path))
      throw new ConditionNotMet()
    }
    if (hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) return false
    throw error
  }
}

/**
 * Runs `work` under the file's lock, again while it says that it lost its turn. Unconditional writers take the lock too:
 * else one could come between a compare and its swap and be overwritten although it was acknowledged.
 */
async function underLock(
  path: string,
  signal: AbortSignal | undefined,
  work: (lock: HeldLock) => Promise<boolean>,
): Promise<void> {
  const name = createHash('sha256').update(basename(path)).digest('hex').slice(0, 16)
  // Beside the file and not in one place for the store, so that stores with nested roots exclude each other.
  const lockPath = join(dirname(path), `${lockPrefix}${name}`)
  for (;;) {
    const lock = await lockFile(lockPath, { signal })
    try {
      if (await work(lock)) return
    } finally {
      await lock.release()
    }
  }
}

async function currentVersion(path: string): Promise<FileVersion | undefined> {
  try {
    const stats = await stat(path, { bigint: true })
    if (stats.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    return versionOf(stats)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function sealed(temporary: FileHandle): Promise<FileVersion> {
  await stampUniquely(temporary)
  await temporary.sync()
  return versionOf(await temporary.stat({ bigint: true }))
}

/**
 * The kernel's own time stamps tick every few milliseconds only. This one is the wall clock's millisecond with the
 * microseconds of the monotonic clock, which all processes share.
 */
async function stampUniquely(temporary: FileHandle): Promise<void> {
  const now = Date.now()
  const microseconds = Number((process.hrtime.bigint() / 1000n) % 1000n)
  await temporary.utimes(now / 1000, (now * 1000 + microseconds) / 1_000_000)
}

/** Folders whose entries in their parents are known to be on disk; forgotten as a whole when it grows large. */
const durableFolders = new Set<string>()

/** Makes the folder and then a file in it, again if somebody removed the folder, empty for a moment, in between. */
async function inFolder<T>(root: string, folder: string, makeFile: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      if (!durableFolders.has(folder)) await makeFolderDurably(root, folder)
      return await makeFile()
    } catch (error) {
      durableFolders.delete(folder)
      if (!hasCode(error, 'ENOENT') || tries === 20) throw error
    }
  }
}

async function makeFolderDurably(root: string, folder: string): Promise<void> {
  const firstMade = await mkdir(folder, { recursive: true })
  // Somebody else may have made a folder on the way without having synced it yet, so every level below the root counts.
  const top = firstMade === undefined || firstMade.startsWith(`${root}/`) ? root : dirname(firstMade)
  for (let level = folder; level.length >= top.length; level = dirname(level)) {
    await syncFolder(level)
    if (level === dirname(level)) break
  }
  if (durableFolders.size > 10_000) durableFolders.clear()
  durableFolders.add(folder)
}

/** Makes the entries of a folder durable: a file's own sync does not. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
