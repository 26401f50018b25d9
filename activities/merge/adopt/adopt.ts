import { type Column, unifyColumns } from '../../../domain/columns.ts'
import { type Compression, type DatasetManifest, datasetLayout } from '../../../domain/dataset.ts'
import type { Mapping } from '../../../domain/spec.ts'
import { columnsOf, newSketch, observe } from '../../../domain/type-sketch.ts'
import type { Row } from '../../../formats/conversation/row.ts'
import { hashObject } from '../../../store/hash-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { NotADataset } from '../errors.ts'
import { detectShape } from '../rows/detect-shape.ts'
import { movePointer, readPointer } from '../versions/pointer.ts'
import { putManifest, type ReadVersion } from '../versions/read-version.ts'
import { listFiles } from './list-files.ts'
import { type SurveyedFile, surveyFile } from './survey-file.ts'

export interface AdoptOptions {
  /** Where the files lie: the dataset itself, or another place that they stay in. */
  readonly from: ObjectStore
  readonly mapping?: Mapping
  /** Local file for what has to be read at any place. */
  readonly spool: string
  readonly now: () => number
  readonly signal?: AbortSignal
  onProgress?(progress: { file: string; bytes: number }): void
}

/**
 * Makes version 1 of the files that lie in a folder or under a prefix. They are read and not touched. Undefined when there
 * are none; a dataset that has versions keeps them. Throws `NotADataset` and `DatasetDamaged`.
 */
export async function adopt(dataset: ObjectStore, options: AdoptOptions): Promise<ReadVersion | undefined> {
  const { from, mapping, signal, now, onProgress } = options
  const { data, descriptions } = await listFiles(from)
  if (data.length === 0) return undefined
  const surveyed: SurveyedFile[] = []
  let read = 0
  for (const { key, bytes } of data) {
    const onBytes = (more: number) => {
      read += more
      onProgress?.({ file: key, bytes: read })
    }
    surveyed.push(await surveyFile({ store: from, key, bytes }, { spool: options.spool, signal, onBytes }))
  }
  const rows = surveyed.flatMap(({ sample }) => sample)
  const shape = detectShape(rows, mapping)
  const files = surveyed.map(({ file }) => file)
  const extras = []
  for (const { key, bytes } of descriptions)
    extras.push({ key, bytes, sha256: await hashObject(from, key, { signal }) })
  const manifest: DatasetManifest = {
    layout: datasetLayout,
    version: 1,
    createdAt: new Date(now()).toISOString(),
    ...(from.uri !== dataset.uri && { root: from.uri }),
    format: onlyFormat(from.uri, surveyed),
    compression: mostUsedCompression(surveyed),
    rows: files.reduce((sum, file) => sum + file.rows, 0),
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    tokens: { rows: 0, tokens: 0 },
    files,
    extras,
    ...(shape && { shape }),
    columns: columnsOfFiles(surveyed, rows),
    hasProvenance: false,
    runs: [],
  }
  const version = await putManifest(dataset, manifest)
  if (!(await readPointer(dataset))) {
    await movePointer(dataset, undefined, version, { at: version.manifest.createdAt, why: 'adopted' })
  }
  return version
}

function onlyFormat(uri: string, surveyed: readonly SurveyedFile[]) {
  const formats = [...new Set(surveyed.map(({ format }) => format))]
  const [format, other] = formats
  if (format !== undefined && other === undefined) return format
  throw new NotADataset(uri, `holds files of several formats (${formats.join(', ')}); adopt a folder of one format`)
}

/** Columns as columnar files say, or else as the first rows look. */
function columnsOfFiles(surveyed: readonly SurveyedFile[], rows: readonly Row[]): Column[] {
  const stored = surveyed.flatMap(({ columns }) => (columns ? [columns] : []))
  if (stored.length > 0) return stored.reduce<Column[]>((all, columns) => unifyColumns(all, columns), [])
  const sketch = newSketch()
  for (const row of rows) observe(sketch, row)
  return columnsOf(sketch)
}

/** What new files are compressed with unless the spec says otherwise: as most of the old ones are. */
function mostUsedCompression(surveyed: readonly SurveyedFile[]): Compression {
  const counts = new Map<Compression, number>()
  for (const { compression } of surveyed) counts.set(compression, (counts.get(compression) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 'none'
}
