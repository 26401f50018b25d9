import { lstat, readdir, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, lockPrefix, temporaryPrefix, versionOf } from './file-write.ts'
import { isValidKey, ownNamePrefix } from './keys.ts'
import { livenessOf } from './process-mark.ts'
import type { Leftover, ObjectInfo } from './store.ts'

/** All objects under `root` whose key starts with `prefix`, in the order of their keys' UTF-8 bytes. */
export async function* listFiles(root: string, prefix: string, signal?: AbortSignal): AsyncGenerator<ObjectInfo> {
  for await (const entry of walk(root, prefix, signal)) {
    if (entry.name.startsWith(ownNamePrefix) || !isValidKey(entry.key)) continue
    const stats = await unlessGone(stat(join(root, entry.key), { bigint: true }))
    if (stats?.isFile()) yield { key: entry.key, ...versionOf(stats) }
  }
}

/** Hidden files under `prefix` whose writers are dead, or whose writers cannot be looked up and that are old enough. */
export async function* listLeftoverFiles(
  root: string,
  prefix: string,
  olderThanMs: number,
  signal?: AbortSignal,
): AsyncGenerator<Leftover & { path: string }> {
  for await (const { key, name } of walk(root, prefix, signal)) {
    const path = join(root, key)
    const stats = name.startsWith(ownNamePrefix) ? await unlessGone(lstat(path)) : undefined
    if (!stats) continue
    const kind = name.startsWith(lockPrefix) ? 'lock' : 'temporary-file'
    const owner = kind === 'lock' ? await unlessGone(readlink(path)) : name.slice(temporaryPrefix.length)
    const liveness = livenessOf(owner ?? '')
    const isOld = Date.now() - stats.mtimeMs > olderThanMs
    if (liveness === 'alive' || (liveness === 'unknown' && !isOld)) continue
    yield { key, path, kind, startedAt: stats.birthtime, bytes: kind === 'lock' ? 0 : stats.size }
  }
}

interface Entry {
  key: string
  name: string
}

/** Links to folders are not followed: a dataset's `current` would list a version twice, and a link upwards for ever. */
async function* walk(root: string, prefix: string, signal?: AbortSignal): AsyncGenerator<Entry> {
  yield* walkFolder(root, prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix, signal)
}

async function* walkFolder(
  root: string,
  folder: string,
  prefix: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Entry> {
  signal?.throwIfAborted()
  const entries = (await unlessGone(readdir(join(root, folder), { withFileTypes: true }))) ?? []
  const sorted = entries
    // A folder sorts as its keys do, with the slash: `a-b` and `a.b` come before `a/b`.
    .map((entry) => ({ name: entry.name, key: `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}` }))
    .filter(({ key }) => key.startsWith(prefix) || (key.endsWith('/') && prefix.startsWith(key)))
    .map((entry) => ({ ...entry, bytes: Buffer.from(entry.key) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
  for (const { name, key } of sorted) {
    if (key.endsWith('/')) yield* walkFolder(root, key, prefix, signal)
    else yield { key, name }
  }
}

async function unlessGone<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}
