import type { ObjectInfo, OpenStore } from '../../store/store.ts'
import { readerOf } from '../byte-reader.ts'
import { globBase, hasGlob, matcherOf } from './glob.ts'
import { byName, isDataFile, type SourceFile, SourceNotReadable } from './source-file.ts'
import type { Spool } from './spool.ts'

/** An object in a bucket, all data files below a prefix, or what a glob matches. */
export async function storeFiles(uri: string, openStore: OpenStore, spool: Spool): Promise<SourceFile[]> {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(uri) ?? []
  const store = openStore(`s3://${bucket}`)

  const fileOf = ({ key, bytes, etag }: ObjectInfo, name: string): SourceFile => {
    const fileUri = `s3://${bucket}/${key}`
    const open = async () => readerOf((await store.get(key, { ifMatch: etag })).body)
    return { uri: fileUri, name, bytes, version: etag, open, localPath: () => spool(fileUri, etag, open) }
  }

  const itself = path === '' || path.endsWith('/') ? undefined : await store.head(path)
  if (itself) return [fileOf(itself, path.split('/').at(-1) ?? path)]
  const folder = hasGlob(path) ? globBase(path) : path.replace(/\/$/, '')
  const prefix = folder === '' ? '' : `${folder}/`
  const isWanted = hasGlob(path) ? matcherOf(path.slice(prefix.length)) : isDataFile
  const files: SourceFile[] = []
  for await (const object of store.list(prefix)) {
    const name = object.key.slice(prefix.length)
    if (isWanted(name)) files.push(fileOf(object, name))
  }
  if (files.length === 0) throw new SourceNotReadable(uri, 'matches no object')
  return files.sort(byName)
}
