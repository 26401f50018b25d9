import type { ByteReader } from '../byte-reader.ts'

/** One file of a source, wherever it is. */
export interface SourceFile {
  readonly uri: string
  /** As a prompt's provenance names it: below the folder or glob, or the file's own name. */
  readonly name: string
  /** As it is stored, before decompression; undefined where a server does not say. */
  readonly bytes: number | undefined
  /** Changes when the content does: a hash or etag, or size and time. */
  readonly version: string
  open(): Promise<ByteReader>
  /** Brings it to where it can be read at any place, and says where that is; a local file is there already. */
  localPath(): Promise<string>
}

/** A URI of a source gives nothing to read. */
export class SourceNotReadable extends Error {
  override readonly name = 'SourceNotReadable'
  constructor(
    readonly uri: string,
    readonly why: string,
    options?: ErrorOptions,
  ) {
    super(`${uri} ${why}`, options)
  }
}

const dataFile = /\.(jsonl?|ndjson|parquet|arrow|csv|tsv)(\.(gz|zst|bz2|xz))?$/i
/** JSON files that describe a dataset, as `save_to_disk` and the hub have them. */
const descriptions = /(^|\/)(dataset_info|dataset_infos|dataset_dict|state|config|metadata)\.json$/i
const hidden = /(^|\/)[._]/

/** Whether a file of a folder is one of its data files, by its name. */
export function isDataFile(name: string): boolean {
  return dataFile.test(name) && !descriptions.test(name) && !hidden.test(name)
}

/** Sorts by the bytes of the names: the same order on every machine and store. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))
}
