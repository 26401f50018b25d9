import type { Column } from '../../../domain/columns.ts'
import { type DatasetManifest, datasetKeys, type ExtraFile, versionName } from '../../../domain/dataset.ts'
import { datasetCard } from '../../../domain/dataset-card.ts'
import { hfLayoutFiles } from '../../../domain/hf-layout.ts'
import { publish } from '../../../store/publish.ts'
import type { CallOptions, ObjectStore } from '../../../store/store.ts'

export interface ExtraFacts extends CallOptions {
  /** All columns of the rows. */
  readonly columns: readonly Column[]
  readonly textBytes: number
}

/** Writes the files of a version that hold no rows: its card, and what Arrow files need to be loaded with. */
export async function writeExtras(
  store: ObjectStore,
  manifest: DatasetManifest,
  { columns, textBytes, signal }: ExtraFacts,
): Promise<ExtraFile[]> {
  const { version, files, mergeId = '' } = manifest
  const name = store.uri.split('/').at(-1) || 'dataset'
  const texts = new Map([[datasetKeys.card(version), datasetCard({ manifest, name, columns, textBytes })]])
  if (manifest.format === 'arrow') {
    const folder = versionName(version)
    const layout = hfLayoutFiles(folder, files, columns, mergeId.slice(0, 16))
    for (const [key, text] of layout) texts.set(`${folder}/${key}`, text)
  }
  const extras: ExtraFile[] = []
  for (const [key, text] of texts) {
    const { info, sha256 } = await publish(store, key, text, { signal })
    extras.push({ key, bytes: info.bytes, sha256 })
  }
  return extras
}
