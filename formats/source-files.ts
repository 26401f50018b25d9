import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ByteReader, openFile } from './byte-reader.ts'

/** One file of a source. */
export interface SourceFile {
  readonly uri: string
  /** As a prompt's provenance names it: below the folder or glob, or the file's own name. */
  readonly name: string
  readonly bytes: number
  open(): Promise<ByteReader>
}

/** A URI of a source gives nothing to read. */
export class SourceNotReadable extends Error {
  override readonly name = 'SourceNotReadable'
  constructor(
    readonly uri: string,
    readonly why: string,
  ) {
    super(`${uri} ${why}`)
  }
}

const dataFile = /\.(jsonl?|ndjson|parquet|arrow|csv|tsv)(\.(gz|zst|bz2|xz))?$/i

/** The files behind a URI: the file itself, or all data files of a folder in the order of their names. */
export async function sourceFiles(uri: string): Promise<SourceFile[]> {
  const path = uri.startsWith('file://') ? fileURLToPath(uri) : uri
  const info = await stat(path).catch(() => undefined)
  if (!info) throw new SourceNotReadable(uri, 'does not exist, or may not be read')
  if (!info.isDirectory()) return [localFile(path, basename(path), info.size)]
  const files = (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && dataFile.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  if (files.length === 0) throw new SourceNotReadable(uri, 'holds no data files')
  return Promise.all(files.map(async (file) => localFile(file, relative(path, file), (await stat(file)).size)))
}

function localFile(path: string, name: string, bytes: number): SourceFile {
  return { uri: path, name, bytes, open: () => openFile(path) }
}
