import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { modelInfo, pathsInfo } from '@huggingface/hub'
import { cachedPath, type HubOptions } from '../../../formats/places/hub-cache.ts'
import { type ModelFiles, ModelNotReadable, readModelFiles } from './model-files.ts'

const hubUri = /^hf:\/\/([^/@]+\/[^/@]+)(?:@([^/]+))?$/

/** Reads a model's files from a folder, or from the Hugging Face hub. Throws `ModelNotReadable`. */
export async function locateModel(uri: string, hub: HubOptions): Promise<ModelFiles> {
  const [, name, revision = 'main'] = hubUri.exec(uri) ?? []
  if (name !== undefined)
    return await readModelFiles(uri, await hubReader(uri, name, decodeURIComponent(revision), hub))
  if (/^[a-z0-9+]+:\/\//i.test(uri) && !uri.startsWith('file://')) {
    throw new ModelNotReadable(uri, 'it is neither a folder nor hf://<owner>/<name>[@<revision>].')
  }
  const folder = uri.startsWith('file://') ? fileURLToPath(uri) : uri
  return await readModelFiles(uri, async (file) => {
    try {
      return await readFile(join(folder, file), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  })
}

/** All files are taken from one commit. */
async function hubReader(uri: string, name: string, revision: string, hub: HubOptions) {
  const repo = { type: 'model', name } as const
  const { sha } = await modelInfo({ name, revision, additionalFields: ['sha'], ...hub }).catch((error: unknown) => {
    throw new ModelNotReadable(uri, `the hub does not give it: ${(error as Error).message}`, { cause: error })
  })
  return async (path: string): Promise<string | undefined> => {
    const [found] = await pathsInfo({ repo, revision: sha, paths: [path], ...hub })
    if (found?.type !== 'file') return undefined
    const etag = found.lfs?.oid ?? found.oid ?? `${sha}-${path}`
    const size = found.lfs?.size ?? found.size
    const file = { repo, revision: sha, path, size, etag, sha256: found.lfs?.oid }
    return await readFile(await cachedPath(file, hub), 'utf8')
  }
}
