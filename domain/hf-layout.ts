import type { Column } from './columns.ts'
import type { DatasetFile } from './dataset.ts'
import { hfFeatures } from './hf-features.ts'

/**
 * What `save_to_disk` writes beside its Arrow files, by key below the version's folder: `load_from_disk` needs it.
 * `fingerprint` names the content for the library's caches.
 */
export function hfLayoutFiles(
  folder: string,
  files: readonly DatasetFile[],
  columns: readonly Column[],
  fingerprint: string,
): Map<string, string> {
  const splits = [...new Set(files.map(({ split }) => split))]
  const isDict = splits.length > 1
  const all = new Map<string, string>()
  if (isDict) all.set('dataset_dict.json', json({ splits }))
  for (const split of splits) {
    const place = isDict ? `${split}/` : ''
    const names = files
      .filter((file) => file.split === split)
      .map(({ key }) => ({ filename: key.slice(`${folder}/${place}`.length) }))
    all.set(
      `${place}dataset_info.json`,
      json({ citation: '', description: '', features: hfFeatures(columns), homepage: '', license: '' }),
    )
    all.set(
      `${place}state.json`,
      json({
        _data_files: names,
        _fingerprint: fingerprint,
        _format_columns: null,
        _format_kwargs: {},
        _format_type: null,
        _output_all_columns: false,
        _split: split,
      }),
    )
  }
  return all
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
