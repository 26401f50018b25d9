import type { Dispatcher } from 'undici'
import type { OpenStore } from '../../store/store.ts'
import type { HubOptions } from './hub-cache.ts'
import { localFiles } from './local-files.ts'
import type { SourceFile } from './source-file.ts'
import { spoolInto } from './spool.ts'
import { storeFiles } from './store-files.ts'

/** How the places that sources lie in are reached. */
export interface Places {
  readonly openStore: OpenStore
  readonly hub: HubOptions
  /** For http(s). Left out: one that retries, and resumes what broke off. */
  readonly dispatcher: Dispatcher | undefined
  /** Folder for remote files that have to be read at any place. */
  readonly spoolFolder: string
}

/** The files behind a URI, in the order of their names. Throws `SourceNotReadable`, also when there is none. */
export async function sourceFiles(uri: string, places: Places): Promise<SourceFile[]> {
  const spool = spoolInto(places.spoolFolder)
  // Clients of remote places are large, and most runs need none of them.
  if (uri.startsWith('s3://')) return storeFiles(uri, places.openStore, spool)
  if (uri.startsWith('hf://')) return (await import('./hub-files.ts')).hubFiles(uri, places.hub)
  if (/^https?:\/\//.test(uri)) return (await import('./http-files.ts')).httpFiles(uri, places.dispatcher, spool)
  return localFiles(uri)
}
