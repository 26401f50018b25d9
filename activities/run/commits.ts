import { basename } from 'node:path'
import type { ShardCommit } from '../../domain/commit.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'

const readsAtATime = 16

/** The commit records of a run, each read once: a record never changes. */
export class Commits {
  readonly #records = new Map<number, ShardCommit>()

  constructor(
    private readonly store: ObjectStore,
    private readonly run: string,
  ) {}

  /** Looks for new records and returns all, in shard order. */
  async read(): Promise<ShardCommit[]> {
    const missing: string[] = []
    for await (const { key } of this.store.list(runKeys(this.run).shardsFolder)) {
      if (!this.#records.has(shardOfKey(key))) missing.push(key)
    }
    for (let start = 0; start < missing.length; start += readsAtATime) {
      const keys = missing.slice(start, start + readsAtATime)
      const records = await Promise.all(keys.map((key) => readJson<ShardCommit>(this.store, key)))
      for (const record of records) this.#records.set(record.shard, record)
    }
    return [...this.#records.values()].sort((a, b) => a.shard - b.shard)
  }
}

/** Numbers of the shards that are committed, without reading the records. */
export async function listCommittedShards(store: ObjectStore, run: string): Promise<number[]> {
  const shards: number[] = []
  for await (const { key } of store.list(runKeys(run).shardsFolder)) shards.push(shardOfKey(key))
  return shards
}

function shardOfKey(key: string): number {
  return Number.parseInt(basename(key, '.json'), 10)
}
