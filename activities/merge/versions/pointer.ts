import { type DatasetPointer, datasetKeys, datasetLayout, type PointerMove } from '../../../domain/dataset.ts'
import { ObjectNotFound, PreconditionFailed } from '../../../store/errors.ts'
import { putJson } from '../../../store/put-json.ts'
import { readJsonVersion } from '../../../store/read-object.ts'
import type { CallOptions, ObjectStore } from '../../../store/store.ts'
import type { ReadVersion } from './read-version.ts'

/** The pointer as it was read: its etag is what a move of it must name. */
export interface ReadPointer {
  readonly pointer: DatasetPointer
  readonly etag: string
}

/** The pointer of a dataset; undefined where there is none. */
export async function readPointer(store: ObjectStore, options?: CallOptions): Promise<ReadPointer | undefined> {
  try {
    const { value, info } = await readJsonVersion(store, datasetKeys.pointer, checkedPointer, options)
    return { pointer: value, etag: info.etag }
  } catch (error) {
    if (error instanceof ObjectNotFound) return undefined
    throw error
  }
}

function checkedPointer(value: unknown): DatasetPointer {
  const pointer = value as DatasetPointer
  if (pointer.layout !== datasetLayout) throw new Error(`layout ${pointer.layout} is not known to this release`)
  return pointer
}

/** Moves that a pointer remembers. */
const mostMoves = 200

/** Moves the pointer, if it still is where it was read. Gives false when somebody else moved it. */
export async function movePointer(
  store: ObjectStore,
  read: ReadPointer | undefined,
  { manifest: { version }, manifestHash }: ReadVersion,
  move: Pick<PointerMove, 'at' | 'why'>,
): Promise<boolean> {
  const from = read?.pointer.version
  const moves = [...(read?.pointer.moves ?? []), { ...(from !== undefined && { from }), to: version, ...move }]
  const pointer: DatasetPointer = {
    layout: datasetLayout,
    version,
    manifest: datasetKeys.manifest(version),
    manifestHash,
    serial: (read?.pointer.serial ?? 0) + 1,
    moves: moves.slice(-mostMoves),
  }
  try {
    await putJson(store, datasetKeys.pointer, pointer, { onlyIf: read ? { etag: read.etag } : 'absent' })
    return true
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
    return false
  }
}
