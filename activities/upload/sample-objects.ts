import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { CommittedObject } from '../../domain/commit.ts'
import type { Sample } from '../../domain/sample.ts'
import { WriteOnceConflict } from '../../store/errors.ts'
import { hashObject } from '../../store/hash-object.ts'
import { publish } from '../../store/publish.ts'
import { readLines } from '../../store/read-lines.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type JournalEntry, readEntries } from '../generate/journal.ts'
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

export interface PlacedSamples {
  objects: CommittedObject[]
  facts: SampleFact[]
}

export interface SamplePlace {
  store: ObjectStore
  /** Key of the object; `part` tells a later writer's apart from the first one's. */
  keyFor: (part?: string) => string
  /** Names a second object, should another dispatch have written the first. */
  part: string
  /** Local folder for the compressed file. */
  folder: string
  verify: VerifyPolicy
}

/**
 * Uploads samples write-once. When another dispatch of the shard has written other samples already, those stay, and only
 * what they lack is added as an object of its own: no sample is in two objects, and none is lost.
 */
export async function placeSamples(entries: readonly JournalEntry[], place: SamplePlace): Promise<PlacedSamples> {
  if (entries.length === 0 && !(await place.store.head(place.keyFor()))) return { objects: [], facts: [] }
  const first = await placeObject(entries, place.keyFor(), place)
  if (first.isOurs) return { objects: [first.object], facts: entries.map(factOf) }
  const facts = await readFacts(place.store, first.object.key)
  const adopted = { ...first.object, rows: facts.length }
  const known = new Set(facts.map((fact) => fact.promptId))
  const missing = entries.filter((entry) => !known.has(entry.promptId))
  if (missing.length === 0) return { objects: [adopted], facts }
  const second = await placeObject(missing, place.keyFor(place.part), place)
  if (!second.isOurs) throw new Error(`${second.object.key} is there already, with other samples`)
  return { objects: [adopted, second.object], facts: [...facts, ...missing.map(factOf)] }
}

async function placeObject(
  entries: readonly JournalEntry[],
  key: string,
  { store, folder, verify }: SamplePlace,
): Promise<{ isOurs: boolean; object: CommittedObject }> {
  const file = join(folder, 'samples.jsonl.gz')
  await pipeline(Readable.from(rowsOf(entries)), createGzip({ level: gzipLevel }), createWriteStream(file))
  try {
    const { info, sha256 } = await publish(store, key, createReadStream(file), { contentType: 'application/gzip' })
    const object = { key, rows: entries.length, bytes: info.bytes, sha256 }
    await verifyObject(store, object, verify)
    return { isOurs: true, object }
  } catch (error) {
    const theirs = error instanceof WriteOnceConflict && (await store.head(key))
    if (!theirs) throw error
    return { isOurs: false, object: { key, rows: 0, bytes: theirs.bytes, sha256: await hashObject(store, key) } }
  }
}

const newline = Buffer.from('\n')

async function* rowsOf(entries: readonly JournalEntry[]): AsyncGenerator<Buffer> {
  for await (const { json } of readEntries(entries)) {
    yield json
    yield newline
  }
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

function factOf({ promptId, inputTokens, outputTokens, isTruncated }: JournalEntry): SampleFact {
  return { promptId, inputTokens, outputTokens, isTruncated }
}
