import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import {
  downloadFile,
  downloadFileToCacheDir,
  getHFHubCachePath,
  getRepoFolderName,
  type RepoId,
} from '@huggingface/hub'
import { messageOf } from '../bad-file.ts'
import { SourceNotReadable } from './source-file.ts'

export interface HubOptions {
  readonly accessToken?: string
  /** Left out: the public hub. */
  readonly hubUrl?: string
  /** Left out: the cache that Hugging Face's own libraries use, and share. */
  readonly cacheDir?: string
  readonly fetch?: typeof fetch
}

/** A file of a dataset at a commit. */
export interface HubFile {
  readonly repo: RepoId
  readonly revision: string
  readonly path: string
  readonly size: number
  /** What the cache calls its content. */
  readonly etag: string
  /** Of the content, where the hub knows it. */
  readonly sha256?: string
}

/** Downloads that break off are taken up again where they ended, so many times without any progress. */
const fruitlessAttempts = 5

/** Where the file lies in the cache; downloaded when it is not there yet, checked by size and hash. */
export async function cachedPath(file: HubFile, options: HubOptions): Promise<string> {
  const cacheDir = options.cacheDir ?? getHFHubCachePath()
  const blob = join(cacheDir, getRepoFolderName(file.repo), 'blobs', file.etag)
  if (!(await sizeOf(blob))) await download(file, blob, options)
  // With its content there already, this only adds the file to the cached commit.
  return downloadFileToCacheDir({ ...options, ...file, cacheDir })
}

async function download(file: HubFile, blob: string, options: HubOptions): Promise<void> {
  const part = `${blob}.incomplete`
  await mkdir(dirname(blob), { recursive: true })
  for (let fruitless = 0; ; ) {
    const before = await sizeOf(part)
    try {
      await append(file, part, before, options)
      break
    } catch (error) {
      fruitless = (await sizeOf(part)) > before ? 0 : fruitless + 1
      if (fruitless >= fruitlessAttempts || isFinal(error)) {
        throw new SourceNotReadable(nameOf(file), `can't be downloaded: ${messageOf(error)}`, { cause: error })
      }
    }
  }
  await check(file, part)
  await rename(part, blob)
}

async function append(file: HubFile, part: string, from: number, options: HubOptions): Promise<void> {
  if (file.size === 0) return await writeFile(part, '')
  if (from >= file.size) return
  const remote = await downloadFile({ ...options, ...file })
  if (!remote) throw new SourceNotReadable(nameOf(file), 'is no longer there')
  const rest = from === 0 ? remote : remote.slice(from, file.size)
  await pipeline(Readable.fromWeb(rest.stream() as ReadableStream), createWriteStream(part, { flags: 'a' }))
  if ((await sizeOf(part)) < file.size) throw new Error('the connection ended before the file did')
}

/** The hub's answer will be the same next time: no access, not there. */
function isFinal(error: unknown): boolean {
  const status = (error as { statusCode?: unknown }).statusCode
  return error instanceof SourceNotReadable || (typeof status === 'number' && status >= 400 && status < 500)
}

async function check(file: HubFile, part: string): Promise<void> {
  const size = await sizeOf(part)
  const isWhole = size === file.size && (!file.sha256 || (await sha256Of(part)) === file.sha256)
  if (isWhole) return
  await rm(part)
  throw new SourceNotReadable(
    nameOf(file),
    `arrived as something else (${size} of ${file.size} bytes, or another hash)`,
  )
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

function nameOf({ repo, revision, path }: HubFile): string {
  return `hf://datasets/${repo.name}@${revision}/${path}`
}
