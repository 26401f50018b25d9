import { join } from 'node:path'
import type { ObjectStore, OpenStore } from '../../../store/store.ts'
import { verifiedFile } from '../../merge/data-file.ts'
import { type ReadVersion, rootOf } from '../../merge/versions/read-version.ts'
import { TokenizeRefused } from '../errors.ts'
import { readTokenFile } from '../tokens/read-token-file.ts'
import { tokenColumns } from '../tokens/token-columns.ts'
import { type PackedRow, packedRows } from '../units/packed-rows.ts'

export interface ReadRowsOptions {
  openStore: OpenStore
  /** Local folder for what has to be read at any place. */
  scratch: string
  signal: AbortSignal
}

/** Rows of a version's file that were read at a time, and the file's key. */
export interface FileRows {
  readonly key: string
  readonly packed: Buffer
}

/**
 * The rows of a version, file by file. Each file is held against its hash at its end. Throws `TokenizeRefused` for a
 * dataset that holds no tokens, and `DatasetDamaged`.
 */
export async function* readVersionRows(
  dataset: ObjectStore,
  { manifest }: ReadVersion,
  { openStore, scratch, signal }: ReadRowsOptions,
): AsyncGenerator<FileRows> {
  const columns = tokenColumns(manifest.columns)
  if (!columns) throw new TokenizeRefused(`${dataset.uri} holds no tokens.`)
  const root = rootOf(manifest, dataset, openStore)
  for (const { key, bytes, sha256 } of manifest.files) {
    const file = verifiedFile({ store: root, key, bytes, sha256 }, { spool: join(scratch, 'spool'), signal })
    for await (const { packed } of readTokenFile(file, columns)) yield { key, packed }
  }
}

/** Some rows of each source, the first that are met: rows lie in random order. */
export async function sampleRows(
  dataset: ObjectStore,
  version: ReadVersion,
  perSource: number,
  isWanted: (source: string) => boolean,
  options: ReadRowsOptions,
): Promise<SampledRow[]> {
  const sampled = new Map<string, SampledRow[]>()
  const sources = Object.keys(version.manifest.sources ?? {}).filter(isWanted)
  const isDone = () => sources.length > 0 && sources.every((source) => sampled.get(source)?.length === perSource)
  for await (const { packed } of readVersionRows(dataset, version, options)) {
    for (const row of packedRows(packed)) {
      const rows = sampled.get(row.source) ?? []
      if (rows.length >= perSource || !isWanted(row.source)) continue
      sampled.set(row.source, [...rows, copied(row)])
    }
    if (isDone()) break
  }
  return [...sampled.keys()].sort().flatMap((source) => sampled.get(source) ?? [])
}

export interface SampledRow {
  promptId: string
  source: string
  ids: number[]
  spans: number[]
}

function copied({ promptId, source, ids, spans }: PackedRow): SampledRow {
  return { promptId, source, ids: [...ids], spans }
}
