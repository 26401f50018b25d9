import { isDeepStrictEqual } from 'node:util'
import { ObjectNotFound } from '../../../store/errors.ts'
import { hashObject } from '../../../store/hash-object.ts'
import { readBytes, readJson } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { workKeys } from '../plan/plan-file.ts'
import type { UnitFacts, UnitRecord } from './unit-record.ts'

export interface CacheSearch {
  readonly store: ObjectStore
  readonly key: string
  readonly facts: UnitFacts
  /** The first rows of the unit, made anew; undefined where that would mean all of them. */
  firstPiece(): Promise<Uint8Array | undefined>
  onPoisoned(what: string): void
}

/**
 * A unit that was tokenized before. It is believed only as far as it can be checked: its record is of the very same facts,
 * its bytes have the hash that the record says, and its first rows are what this code makes of the file's first rows.
 */
export async function findCachedUnit({
  store,
  key,
  facts,
  firstPiece,
  onPoisoned,
}: CacheSearch): Promise<UnitRecord | undefined> {
  const record = await readRecord(store, key)
  if (record === undefined) return undefined
  const problem = await problemOf(record, store, key, facts, firstPiece)
  if (problem === undefined) return record as UnitRecord
  onPoisoned(`${store.uri}/${workKeys.unit(key, 'rows')} ${problem}`)
  return undefined
}

async function readRecord(store: ObjectStore, key: string): Promise<Partial<UnitRecord> | undefined> {
  try {
    return await readJson<Partial<UnitRecord>>(store, workKeys.unit(key, 'json'))
  } catch (error) {
    if (error instanceof ObjectNotFound) return undefined
    // A record that is no JSON is one that nobody can believe.
    if (error instanceof Error && error.name === 'MalformedObject') return {}
    throw error
  }
}

async function problemOf(
  record: Partial<UnitRecord>,
  store: ObjectStore,
  key: string,
  facts: UnitFacts,
  firstPiece: CacheSearch['firstPiece'],
): Promise<string | undefined> {
  // By way of JSON, in which the record was kept.
  if (!isDeepStrictEqual(record.facts, JSON.parse(JSON.stringify(facts)))) return 'was made of something else'
  const rowsKey = workKeys.unit(key, 'rows')
  if (!(await store.head(rowsKey))) return 'is gone'
  if ((await hashObject(store, rowsKey)) !== record.sha256) return 'has changed since it was written'
  const first = await firstPiece()
  if (!first || first.length === 0) return undefined
  if (first.length > (record.bytes ?? 0)) return 'lacks rows that this code makes'
  const there = await readBytes(store, rowsKey, { range: { start: 0, end: first.length } })
  return there.equals(first) ? undefined : 'has other tokens than this code makes of the same rows'
}
