import type { Dispatcher } from 'undici'
import type { OpenStore } from '../../store/store.ts'
import { httpFiles } from './http-files.ts'
import type { HubOptions } from './hub-cache.ts'
import { hubFiles } from './hub-files.ts'
import { localFiles } from './local-files.ts'
import type { SourceFile } from './source-file.ts'
import { spoolInto } from './spool.ts'
import { storeFiles } from './store-files.ts'

/** How the places that sources lie in are reached. */
export interface Places {
  readonly openStore: OpenStore
  readonly hub: HubOptions
  /** For http(s): retries, and resumes what broke off. */
  readonly dispatcher: Dispatcher
  /** Folder for remote files that have to be read at any place. */
  readonly spoolFolder: string
}

/** The files behind a URI, in the order of their names. Throws `SourceNotReadable`, also when there is none. */
export function sourceFiles(uri: string, places: Places): Promise<SourceFile[]> {
  const spool = spoolInto(places.spoolFolder)
  if (uri.startsWith('s3://')) return storeFiles(uri, places.openStore, spool)
  if (uri.startsWith('hf://')) return hubFiles(uri, places.hub)
  if (/^https?:\/\//.test(uri)) return httpFiles(uri, places.dispatcher, spool)
  return localFiles(uri)
}
