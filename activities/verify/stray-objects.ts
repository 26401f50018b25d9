import type { CommittedObject, ShardCommit } from '../../domain/commit.ts'
import { runKeys, shardOfKey } from '../../domain/run-keys.ts'
import type { ObjectStore } from '../../store/store.ts'

/** An object among a run's samples, failures or prompts that no record names. */
export interface StrayObject {
  key: string
  bytes: number
  /**
   * `orphan`: of a shard that is committed without it, so that nothing will ever read it. `uncommitted`: of a shard that has
   * no commit record yet; who goes on with the shard takes it over. `unknown`: nothing that Longhaul would write.
   */
  kind: 'orphan' | 'uncommitted' | 'unknown'
  modifiedAt: Date
}

/** What the records of a run say about which objects there are. */
export interface NamedObjects {
  run: string
  /** Shards of the plan and of all retry rounds. */
  shards: number
  /** All that there are. */
  commits: readonly Pick<ShardCommit, 'shard' | 'sampleObjects' | 'failureObjects'>[]
  /** Objects of the manifest, if there is one: what it names is no stray whatever the commit records say. */
  manifestObjects?: readonly CommittedObject[]
}

/** Lists what lies among the objects of a run and is named by no record. */
export async function* strayObjects(store: ObjectStore, named: NamedObjects): AsyncGenerator<StrayObject> {
  const { run, shards, commits, manifestObjects = [] } = named
  const keys = runKeys(run)
  const committed = new Set(commits.map(({ shard }) => shard))
  const known = new Set(
    [...commits.flatMap((commit) => [...commit.sampleObjects, ...commit.failureObjects]), ...manifestObjects].map(
      ({ key }) => key,
    ),
  )
  for (const folder of [keys.samplesFolder, keys.failuresFolder]) {
    for await (const { key, bytes, modifiedAt } of store.list(folder)) {
      if (known.has(key)) continue
      const shard = shardOfKey(run, key)
      const kind = shard === undefined ? 'unknown' : committed.has(shard) ? 'orphan' : 'uncommitted'
      yield { key, bytes, modifiedAt, kind }
    }
  }
  for await (const { key, bytes, modifiedAt } of store.list(keys.promptsFolder)) {
    const shard = shardOfKey(run, key)
    // A retry round that was never finished leaves prompts behind that are no shard's.
    if (shard !== undefined && shard < shards) continue
    yield { key, bytes, modifiedAt, kind: shard === undefined ? 'unknown' : 'orphan' }
  }
}
