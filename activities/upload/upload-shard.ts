import { rm } from 'node:fs/promises'
import type { CommittedObject, ShardCommit } from '../../domain/commit.ts'
import { countBy, sum } from '../../domain/counts.ts'
import type { ShardDispatch } from '../../domain/dispatch.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import type { Failure } from '../../domain/sample.ts'
import { PreconditionFailed, WriteOnceConflict } from '../../store/errors.ts'
import { publish } from '../../store/publish.ts'
import { putJson } from '../../store/put-json.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { JournalEntry } from '../generate/journal.ts'
import { readEntries } from '../generate/journal-reader.ts'
import { readPrompts } from '../generate/shard-prompts.ts'
import { readShardState, shardFolder } from '../generate/shard-state.ts'
import { readRunRecord } from '../run-record.ts'
import { placeSamples } from './sample-objects.ts'
import { type VerifyPolicy, verifyObject } from './verify-object.ts'

/** Not every prompt of the shard has an outcome on this host: it can't be committed. */
export class ShardIncomplete extends Error {
  override readonly name = 'ShardIncomplete'
  constructor(shard: number, unfinished: number) {
    super(`shard ${shardName(shard)} has ${unfinished} prompts without an outcome on this host`)
  }
}

/** Which shard, and what wrote its samples. */
export type UploadedShard = Pick<ShardDispatch, 'ref' | 'shard' | 'epoch' | 'identity'>

export interface UploadDeps {
  store: ObjectStore
  scratch: string
  now: () => number
}

/**
 * Uploads what a shard's journals hold and commits it: samples, then failures, then the commit record, each write-once. A
 * shard that is committed already is left as it is. Throws `ShardIncomplete`.
 */
export async function uploadShard(dispatch: UploadedShard, deps: UploadDeps): Promise<ShardCommit> {
  const { ref, shard } = dispatch
  const { store, scratch } = deps
  const keys = runKeys(ref.run)
  const commit =
    (await readCommit(store, keys.commit(shard))) ?? (await placeCommit(store, await placeOutcomes(dispatch, deps)))
  await rm(shardFolder(scratch, ref.run, shardName(shard)), { recursive: true, force: true })
  for await (const checkpoint of store.list(keys.checkpoints(shard))) await store.delete(checkpoint.key)
  return commit
}

/** Uploads samples and failures; returns the record that is to vouch for them. */
async function placeOutcomes(
  { ref, shard, epoch, identity }: UploadedShard,
  { store, scratch, now }: UploadDeps,
): Promise<ShardCommit> {
  const keys = runKeys(ref.run)
  const folder = shardFolder(scratch, ref.run, shardName(shard))
  const { spec } = await readRunRecord(store, ref)
  const prompts = await readPrompts(store, keys.prompts(shard))
  const { outcomes } = await readShardState(folder)
  const entries = prompts.flatMap(({ promptId }) => outcomes.get(promptId) ?? [])
  const successes = entries.filter((entry) => entry.kind === 'S')
  const placed = await placeSamples(successes, { store, run: ref.run, shard, options: spec })
  const samples = placed.flatMap(({ facts }) => facts)
  const sampled = new Set(samples.map((fact) => fact.promptId))
  const unfinished = prompts.filter(({ promptId }) => !sampled.has(promptId) && !outcomes.has(promptId))
  if (unfinished.length > 0) throw new ShardIncomplete(shard, unfinished.length)

  const failures = await readFailures(entries.filter((entry) => !sampled.has(entry.promptId)))
  return {
    run: ref.run,
    shard,
    epoch,
    ...identity,
    prompts: prompts.length,
    samples: sampled.size,
    failures: failures.length,
    truncated: samples.filter((fact) => fact.isTruncated).length,
    reasons: countBy(failures, ({ reason }) => reason),
    sources: {
      samples: countBy(
        prompts.filter(({ promptId }) => sampled.has(promptId)),
        ({ source }) => source,
      ),
      failures: countBy(failures, ({ source }) => source),
    },
    inputTokens: sum(samples, (fact) => fact.inputTokens),
    outputTokens: sum(samples, (fact) => fact.outputTokens),
    sampleObjects: placed.map(({ object }) => object),
    failureObjects: await placeFailures(failures, {
      store,
      verify: spec.verify,
      keyOf: (part) => keys.failures(shard, part),
    }),
    committedAt: new Date(now()).toISOString(),
  }
}

/** Failures of another dispatch that lie under a key already stay there; the commit record names those that count. */
async function placeFailures(
  failures: Failure[],
  { store, verify, keyOf }: { store: ObjectStore; verify: VerifyPolicy; keyOf: (part: number) => string },
): Promise<CommittedObject[]> {
  if (failures.length === 0) return []
  const body = failures.map((failure) => `${JSON.stringify(failure)}\n`).join('')
  for (let part = 0; ; part++) {
    try {
      const key = keyOf(part)
      const { info, sha256 } = await publish(store, key, body, { contentType: 'application/jsonl' })
      const object = { key, rows: failures.length, bytes: info.bytes, sha256 }
      await verifyObject(store, object, verify)
      return [object]
    } catch (error) {
      if (!(error instanceof WriteOnceConflict)) throw error
    }
  }
}

/** The first record wins: a dispatch that comes later takes over what the earlier one committed. */
async function placeCommit(store: ObjectStore, commit: ShardCommit): Promise<ShardCommit> {
  const key = runKeys(commit.run).commit(commit.shard)
  try {
    await putJson(store, key, commit, { onlyIf: 'absent' })
    return commit
  } catch (error) {
    const winner = error instanceof PreconditionFailed && (await readCommit(store, key))
    if (!winner) throw error
    return winner
  }
}

async function readCommit(store: ObjectStore, key: string): Promise<ShardCommit | undefined> {
  return (await store.head(key)) && (await readJson<ShardCommit>(store, key))
}

async function readFailures(entries: JournalEntry[]): Promise<Failure[]> {
  const failures: Failure[] = []
  for await (const { json } of readEntries(entries)) failures.push(JSON.parse(json.toString()))
  return failures
}
