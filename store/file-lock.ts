import { createHash, randomBytes } from 'node:crypto'
import { lstat, readlink, symlink, unlink } from 'node:fs/promises'
import { pause } from './pause.ts'
import { livenessOf, ownProcessMark } from './process-mark.ts'

/**
 * How long a lock is respected whose holder cannot be looked up (another machine, before a reboot). Holders only compare
 * and rename, which takes milliseconds, and give up their turn by themselves after half of it.
 */
export const lockLeaseMs = 60_000

export interface LockOptions {
  readonly signal?: AbortSignal
  /** Default `lockLeaseMs`; longer for work that takes longer. All who share a lock must give the same. */
  readonly leaseMs?: number
}

/** Returned by `lockFile`: whether the lock is certainly still one's own, and how to give it back. */
export interface HeldLock {
  isStillOwn(): boolean
  release(): Promise<void>
}

/**
 * Takes the lock at `path`. The lock is a symbolic link whose target names its holder: creating one is atomic, exclusive
 * and needs no second step, and it outlives nobody, because the lock of a dead process is broken by the next one.
 */
export async function lockFile(path: string, options: LockOptions = {}): Promise<HeldLock> {
  const { signal, leaseMs = lockLeaseMs } = options
  const holder = `${ownProcessMark()}.${randomBytes(8).toString('hex')}`
  for (let polls = 0; ; polls++) {
    signal?.throwIfAborted()
    const takenAt = performance.now()
    if (await tryCreate(holder, path)) {
      return {
        isStillOwn: () => performance.now() - takenAt < leaseMs / 2,
        release: () => removeIfHeldBy(holder, path),
      }
    }
    const other = await holderOf(path)
    if (other !== undefined && (await isAbandoned(other, path, leaseMs))) await breakLock(other, path, signal)
    else if (other !== undefined) await pause((0.5 + Math.random()) * Math.min(20, 1 + polls), signal)
  }
}

/** Breaks the lock at `path` if its holder is dead. Says whether it did. */
export async function breakAbandonedLock(path: string): Promise<boolean> {
  const holder = await holderOf(path)
  if (holder === undefined || !(await isAbandoned(holder, path, lockLeaseMs))) return false
  await breakLock(holder, path)
  return true
}

/**
 * Only one process may remove the lock of a dead holder, or a second one that judged by an older look would remove the
 * lock of whoever took it in between. So breaking is done under a lock of its own, named after the dead holder, and after
 * a second look. Should its holder die as well, the same holds one level down.
 */
async function breakLock(dead: string, path: string, signal?: AbortSignal): Promise<void> {
  const breaking = await lockFile(`${path}-${createHash('sha256').update(dead).digest('hex').slice(0, 8)}`, { signal })
  try {
    await removeIfHeldBy(dead, path)
  } finally {
    await breaking.release()
  }
}

async function isAbandoned(holder: string, path: string, leaseMs: number): Promise<boolean> {
  const liveness = livenessOf(holder)
  if (liveness === 'dead') return true
  // A living holder that is frozen for so long loses its turn as well: `isStillOwn` keeps it from acting on it later.
  const takenAt = await lstat(path).then(
    (entry) => entry.mtimeMs,
    () => undefined,
  )
  return takenAt !== undefined && Date.now() - takenAt > leaseMs
}

async function tryCreate(holder: string, path: string): Promise<boolean> {
  try {
    await symlink(holder, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function holderOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function removeIfHeldBy(holder: string, path: string): Promise<void> {
  if ((await holderOf(path)) !== holder) return
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
