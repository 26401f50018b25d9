import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFile } from '../byte-reader.ts'
import { globBase, hasGlob, matcherOf } from './glob.ts'
import { byName, isDataFile, type SourceFile, SourceNotReadable } from './source-file.ts'

/** A file, all data files of a folder, or what a glob matches. */
export async function localFiles(uri: string): Promise<SourceFile[]> {
  const path = uri.startsWith('file://') ? fileURLToPath(uri) : uri
  const info = await stat(path).catch(() => undefined)
  if (info?.isFile()) return [await localFile(path, basename(path))]
  if (info?.isDirectory()) return filesBelow(path, uri, isDataFile, 'holds no data files')
  if (!hasGlob(path)) throw new SourceNotReadable(uri, 'does not exist, or may not be read')
  const base = globBase(path)
  return filesBelow(base, uri, matcherOf(path.slice(base.length + 1)), 'matches no file')
}

async function filesBelow(
  folder: string,
  uri: string,
  isWanted: (name: string) => boolean,
  otherwise: string,
): Promise<SourceFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new SourceNotReadable(uri, 'may not be read', { cause: error })
  })
  const names = entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) =>
      relative(folder, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    )
    .filter(isWanted)
  if (names.length === 0) throw new SourceNotReadable(uri, otherwise)
  return (await Promise.all(names.map((name) => localFile(join(folder, name), name)))).sort(byName)
}

async function localFile(path: string, name: string): Promise<SourceFile> {
  const { size, mtimeMs } = await stat(path)
  return {
    uri: path,
    name,
    bytes: size,
    version: `${size}-${mtimeMs}`,
    open: () => openFile(path),
    localPath: async () => path,
  }
}
