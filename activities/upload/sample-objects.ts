import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { CommittedObject } from '../../domain/commit.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Sample } from '../../domain/sample.ts'
import { WriteOnceConflict } from '../../store/errors.ts'
import { hashObject } from '../../store/hash-object.ts'
import { publish } from '../../store/publish.ts'
import { readLines } from '../../store/read-lines.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { JournalEntry } from '../generate/journal.ts'
import { readEntries } from '../generate/journal-reader.ts'
import { type VerifyPolicy, verifyObject } from './verify-object.ts'

/** Near the best size at a third of the time of the default level. */
const gzipLevel = 4

/** What a commit record needs to know of a sample. */
export interface SampleFact {
  promptId: string
  inputTokens: number
  outputTokens: number
  isTruncated: boolean
}

/** A sample object of a shard in the store, and what is in it. */
export interface PlacedSamples {
  object: CommittedObject
  facts: SampleFact[]
}

export interface SamplePlace {
  store: ObjectStore
  run: string
  shard: number
  verify: VerifyPolicy
}

/**
 * Uploads samples write-once; returns all sample objects of the shard. What other dispatches have uploaded stays and counts,
 * and only what they lack is added, as the next object in the row: since nobody writes an object without having read all
 * before it, no sample is in two objects, however many dispatches write at once.
 */
export async function placeSamples(entries: readonly JournalEntry[], place: SamplePlace): Promise<PlacedSamples[]> {
  const placed = await readPlacedSamples(place)
  for (;;) {
    const known = new Set(placed.flatMap(({ facts }) => facts.map((fact) => fact.promptId)))
    const missing = entries.filter((entry) => !known.has(entry.promptId))
    if (missing.length === 0) return placed
    const key = samplesKey(place, placed.length)
    placed.push((await placeObject(missing, key, place)) ?? (await readPlaced(place.store, key)))
  }
}

/** The sample objects of a shard that are in the store, whichever dispatch uploaded them, in the order of writing. */
export async function readPlacedSamples(place: Pick<SamplePlace, 'store' | 'run' | 'shard'>): Promise<PlacedSamples[]> {
  const placed: PlacedSamples[] = []
  for (;;) {
    const key = samplesKey(place, placed.length)
    if (!(await place.store.head(key))) return placed
    placed.push(await readPlaced(place.store, key))
  }
}

/** Undefined when another dispatch has just written the object. */
async function placeObject(
  entries: readonly JournalEntry[],
  key: string,
  { store, verify }: SamplePlace,
): Promise<PlacedSamples | undefined> {
  // Not by way of a file: when the scratch disk is full, uploads are what frees it.
  const compressed = pipeline(Readable.from(rowsOf(entries)), createGzip({ level: gzipLevel }), () => {})
  try {
    const { info, sha256 } = await publish(store, key, compressed, { contentType: 'application/gzip' })
    const object = { key, rows: entries.length, bytes: info.bytes, sha256 }
    await verifyObject(store, object, verify)
    return { object, facts: entries.map(factOf) }
  } catch (error) {
    if (error instanceof WriteOnceConflict) return undefined
    throw error
  }
}

async function readPlaced(store: ObjectStore, key: string): Promise<PlacedSamples> {
  const facts = await readFacts(store, key)
  const { bytes } = (await store.head(key)) ?? { bytes: 0 }
  return { object: { key, rows: facts.length, bytes, sha256: await hashObject(store, key) }, facts }
}

function samplesKey({ run, shard }: Pick<SamplePlace, 'run' | 'shard'>, part: number): string {
  return runKeys(run).samples(shard, part)
}

function factOf({ promptId, inputTokens, outputTokens, isTruncated }: JournalEntry): SampleFact {
  return { promptId, inputTokens, outputTokens, isTruncated }
}

const newline = Buffer.from('\n')
const batchBytes = 1 << 16

/** Rows as JSON lines, many to a buffer: a stream costs by the piece. */
async function* rowsOf(entries: readonly JournalEntry[]): AsyncGenerator<Buffer> {
  let batch: Buffer[] = []
  let bytes = 0
  for await (const { json } of readEntries(entries)) {
    batch.push(json, newline)
    bytes += json.length + 1
    if (bytes < batchBytes) continue
    yield Buffer.concat(batch)
    batch = []
    bytes = 0
  }
  yield Buffer.concat(batch)
}

async function readFacts(store: ObjectStore, key: string): Promise<SampleFact[]> {
  const facts: SampleFact[] = []
  for await (const line of readLines(store, key)) {
    const { promptId, usage, truncated } = JSON.parse(line) as Sample
    facts.push({
      promptId,
      inputTokens: usage.promptTokens,
      outputTokens: usage.completionTokens,
      isTruncated: truncated,
    })
  }
  return facts
}
