import type { CommittedObject } from '../../domain/commit.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Spec } from '../../domain/spec.ts'
import { readStoredRows } from '../../formats/stored-rows.ts'
import { ObjectCorrupt, WriteOnceConflict } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { JournalEntry } from '../generate/journal.ts'
import { readEntries } from '../generate/journal-reader.ts'
import { compressRows, contentTypes } from './compress-rows.ts'
import { type SampleFact, sampleFactOf } from './stored-row.ts'
import { verifyObject } from './verify-object.ts'

/** A sample object of a shard in the store, and what is in it. */
export interface PlacedSamples {
  object: CommittedObject
  facts: Omit<SampleFact, 'source'>[]
  /** Why it counts for nothing: its samples are uploaded again, and no record names it. */
  damage?: string
}

export interface SamplePlace {
  store: ObjectStore
  run: string
  shard: number
  options: Pick<Spec, 'verify' | 'compression'>
}

/**
 * Uploads samples write-once; returns all sample objects of the shard that are whole. What other dispatches have uploaded
 * stays and counts, and only what they lack is added, as the next object in the row: since nobody writes an object without
 * having read all before it, no sample is in two objects, however many dispatches write at once.
 */
export async function placeSamples(entries: readonly JournalEntry[], place: SamplePlace): Promise<PlacedSamples[]> {
  const placed = await readPlaces(place)
  for (;;) {
    const known = new Set(placed.flatMap(({ facts }) => facts.map((fact) => fact.promptId)))
    const missing = entries.filter((entry) => !known.has(entry.promptId))
    if (missing.length === 0) return placed.filter(({ damage }) => damage === undefined)
    const key = keyOf(place, placed.length)
    placed.push((await placeObject(missing, key, place)) ?? (await readPlaced(place.store, key)))
  }
}

/** The whole sample objects of a shard that are in the store, whichever dispatch uploaded them, in the order of writing. */
export async function readPlacedSamples(place: SamplePlace): Promise<PlacedSamples[]> {
  return (await readPlaces(place)).filter(({ damage }) => damage === undefined)
}

async function readPlaces(place: SamplePlace): Promise<PlacedSamples[]> {
  const placed: PlacedSamples[] = []
  for (;;) {
    const key = keyOf(place, placed.length)
    if (!(await place.store.head(key))) return placed
    placed.push(await readPlaced(place.store, key))
  }
}

/** Undefined when another dispatch has just written the object. */
async function placeObject(
  entries: readonly JournalEntry[],
  key: string,
  { store, options: { verify, compression } }: SamplePlace,
): Promise<PlacedSamples | undefined> {
  // Not by way of a file: when the scratch disk is full, uploads are what frees it.
  const compressed = compressRows(rowsOf(entries), compression)
  try {
    const { info, sha256 } = await publish(store, key, compressed, { contentType: contentTypes[compression] })
    const object = { key, rows: entries.length, bytes: info.bytes, sha256 }
    await verifyObject(store, object, verify)
    return { object, facts: [...entries] }
  } catch (error) {
    if (error instanceof WriteOnceConflict) return undefined
    throw error
  }
}

/** Reads a whole object: nothing vouches for what a dispatch wrote that never came to its commit. */
async function readPlaced(store: ObjectStore, key: string): Promise<PlacedSamples> {
  const facts: SampleFact[] = []
  try {
    const { bytes, sha256, rows, problem } = await readStoredRows(store, key, (row) => facts.push(sampleFactOf(row)))
    const object = { key, rows, bytes, sha256 }
    return problem === undefined ? { object, facts } : { object, facts: [], damage: problem }
  } catch (error) {
    if (!(error instanceof ObjectCorrupt)) throw error
    return { object: { key, rows: 0, bytes: 0, sha256: '' }, facts: [], damage: error.problem }
  }
}

function keyOf({ run, shard, options }: SamplePlace, part: number): string {
  return runKeys(run).samples(shard, part, options.compression)
}

async function* rowsOf(entries: readonly JournalEntry[]): AsyncGenerator<Buffer> {
  for await (const { json } of readEntries(entries)) yield json
}
