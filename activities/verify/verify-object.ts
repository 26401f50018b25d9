import type { CommittedObject } from '../../domain/commit.ts'
import { readStoredRows, type StoredRows } from '../../formats/stored-rows.ts'
import { ObjectCorrupt, ObjectNotFound } from '../../store/errors.ts'
import type { CallOptions, ObjectStore } from '../../store/store.ts'
import type { Finding } from './findings.ts'

/** What is known of an object from a record; of prompts only the key is, until there is a manifest. */
export type RecordedObject = Pick<CommittedObject, 'key'> & Partial<CommittedObject>

export interface VerifiedObject {
  /** Undefined when the object is not there, or the store itself found it damaged. */
  read: StoredRows | undefined
  /** What is wrong with the object as a whole; empty when it is what the record says. */
  findings: Finding[]
}

/** Reads an object of rows once, from its first byte to its last, and holds it against its record. */
export async function verifyRows(
  store: ObjectStore,
  object: RecordedObject,
  onRow: (row: Buffer) => void,
  options: CallOptions,
): Promise<VerifiedObject> {
  const { key } = object
  try {
    const read = await readStoredRows(store, key, onRow, options)
    return { read, findings: findingsOf(object, read) }
  } catch (error) {
    if (error instanceof ObjectNotFound)
      return { read: undefined, findings: [{ kind: 'objectMissing', key, message: `${key} is not there` }] }
    if (error instanceof ObjectCorrupt)
      return {
        read: undefined,
        findings: [{ kind: 'objectChanged', key, message: `${key} is damaged: ${error.problem}` }],
      }
    throw error
  }
}

function findingsOf({ key, bytes, sha256, rows }: RecordedObject, read: StoredRows): Finding[] {
  const differences = [
    ...(bytes !== undefined && bytes !== read.bytes ? [`${read.bytes} bytes instead of ${bytes}`] : []),
    ...(sha256 !== undefined && sha256 !== read.sha256 ? [`SHA-256 ${read.sha256} instead of ${sha256}`] : []),
    ...(read.problem === undefined ? [] : [`it ${read.problem}`]),
  ]
  if (differences.length === 0) return rowsFinding(key, rows, read)
  const hasChanged = (sha256 !== undefined && sha256 !== read.sha256) || (bytes !== undefined && bytes !== read.bytes)
  if (hasChanged) return [{ kind: 'objectChanged', key, message: `${key} has changed: ${differences.join(', ')}` }]
  return [{ kind: 'objectUnreadable', key, message: `${key} ${read.problem}` }]
}

function rowsFinding(key: string, rows: number | undefined, read: StoredRows): Finding[] {
  if (rows === undefined || rows === read.rows) return []
  return [{ kind: 'wrongCount', key, message: `${key} has ${read.rows} rows, its record says ${rows}` }]
}
