import { datasetInfo, listFiles, pathsInfo } from '@huggingface/hub'
import { messageOf } from '../bad-file.ts'
import { openFile } from '../byte-reader.ts'
import { globBase, hasGlob, matcherOf } from './glob.ts'
import { cachedPath, type HubFile, type HubOptions } from './hub-cache.ts'
import { byName, isDataFile, type SourceFile, SourceNotReadable } from './source-file.ts'

interface HubUri {
  repo: string
  revision: string
  path: string
}

/**
 * Files of a dataset on the Hugging Face hub: `hf://datasets/<owner>/<name>[@<revision>][/<path>]`, where the path names a
 * file, a folder or a glob. The revision is pinned to its commit, so that all files are of one version.
 */
export async function hubFiles(uri: string, options: HubOptions): Promise<SourceFile[]> {
  const { repo, revision, path } = parseHubUri(uri)
  try {
    const { sha } = await datasetInfo({ name: repo, revision, additionalFields: ['sha'], ...options })
    const found = await filesAt(path, { repo: { type: 'dataset', name: repo }, revision: sha, ...options })
    if (found.files.length === 0) throw new SourceNotReadable(uri, 'matches no file')
    const root = found.base === '' ? '' : `${found.base}/`
    return found.files
      .map((file) =>
        sourceFile(`hf://datasets/${repo}@${sha}/${file.path}`, file.path.slice(root.length), file, options),
      )
      .sort(byName)
  } catch (error) {
    if (error instanceof SourceNotReadable) throw error
    const hint = isRefusal(error) ? ' (a gated or private dataset needs a token with access to it)' : ''
    throw new SourceNotReadable(uri, `can't be listed: ${messageOf(error)}${hint}`, { cause: error })
  }
}

function sourceFile(uri: string, name: string, file: HubFile, options: HubOptions): SourceFile {
  const localPath = () => cachedPath(file, options)
  return { uri, name, bytes: file.size, version: file.etag, open: async () => openFile(await localPath()), localPath }
}

function parseHubUri(uri: string): HubUri {
  const match = /^hf:\/\/datasets\/([^/@]+\/[^/@]+)(?:@([^/]+))?(?:\/(.*))?$/.exec(uri)
  if (!match) throw new SourceNotReadable(uri, 'is not of the form hf://datasets/<owner>/<name>[@<revision>][/<path>]')
  const [, repo = '', revision = 'main', path = ''] = match
  return { repo, revision: decodeURIComponent(revision), path: path.replace(/\/$/, '') }
}

type Where = { repo: HubFile['repo']; revision: string } & HubOptions

async function filesAt(path: string, where: Where): Promise<{ base: string; files: HubFile[] }> {
  const isGlob = hasGlob(path)
  if (!isGlob && path !== '') {
    const [itself] = await pathsInfo({ ...where, paths: [path] })
    if (itself?.type === 'file') {
      return { base: path.split('/').slice(0, -1).join('/'), files: [hubFile(itself, where)] }
    }
  }
  const base = isGlob ? globBase(path) : path
  const root = base === '' ? '' : `${base}/`
  const isWanted = isGlob ? matcherOf(path.slice(root.length)) : isDataFile
  const files: HubFile[] = []
  for await (const entry of listFiles({ ...where, path: base, recursive: true })) {
    if (entry.type === 'file' && isWanted(entry.path.slice(root.length))) files.push(hubFile(entry, where))
  }
  return { base, files }
}

interface Listed {
  path: string
  size: number
  oid?: string
  lfs?: { oid: string; size: number }
  xetHash?: string
}

function hubFile({ path, size, oid, lfs, xetHash }: Listed, { repo, revision }: Where): HubFile {
  const etag = lfs?.oid ?? xetHash ?? oid ?? `${revision}-${size}`
  return { repo, revision, path, size: lfs?.size ?? size, etag, sha256: lfs?.oid }
}

function isRefusal(error: unknown): boolean {
  const status = (error as { statusCode?: unknown }).statusCode
  return status === 401 || status === 403
}
