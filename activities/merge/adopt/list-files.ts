import { datasetKeys } from '../../../domain/dataset.ts'
import { isDataFile } from '../../../formats/places/source-file.ts'
import type { ObjectInfo, ObjectStore } from '../../../store/store.ts'

/** What lies in a folder or under a prefix. */
export interface FoundFiles {
  /** Files of rows, in the order of their keys. */
  readonly data: readonly ObjectInfo[]
  /** Files that describe the data: cards, and what `save_to_disk` writes beside its Arrow files. */
  readonly descriptions: readonly ObjectInfo[]
}

const ownFolder = /^v\d{4,}\//
const description = /(^|\/)(readme\.md|license(\.\w+)?|dataset_infos?\.json|dataset_dict\.json|state\.json)$/i

/** Finds the files of a dataset that has no versions yet. What Longhaul itself wrote there is left out. */
export async function listFiles(store: ObjectStore): Promise<FoundFiles> {
  const data: ObjectInfo[] = []
  const descriptions: ObjectInfo[] = []
  for await (const object of store.list('')) {
    if (ownFolder.test(object.key) || object.key === datasetKeys.pointer) continue
    if (isDataFile(object.key)) data.push(object)
    else if (description.test(object.key)) descriptions.push(object)
  }
  return { data, descriptions }
}
