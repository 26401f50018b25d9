import { createHash } from 'node:crypto'
import type { CommittedObject, ShardCommit } from '../../domain/commit.ts'
import type { Plan } from '../../domain/plan.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import { mapInOrder } from '../../shuffle/map-in-order.ts'
import { hashObject } from '../../store/hash-object.ts'
import { readJson } from '../../store/read-object.ts'
import type { CallOptions, ObjectStore } from '../../store/store.ts'
import { readRetryRounds } from '../retry/failures.ts'
import { listCommittedShards } from '../run/commits.ts'
import type { RunRecord } from '../run-record.ts'
import { type Finding, promptsFinding } from './findings.ts'
import { type ManifestFacts, manifestOf } from './manifest.ts'
import { type VerifiedShard, verifyShard } from './verify-shard.ts'

export interface VerifyOptions extends CallOptions {
  /** Called as shards are done. */
  onShard?: (done: number, shards: number) => void
  /** Read at the same time; each takes memory for the ids of its prompts and a few chunks. Default 4. */
  shardsAtATime?: number
}

/** What a run was found to be. */
export interface Verification {
  run: string
  /** Of the plan and of all retry rounds. */
  shards: number
  committed: number
  /** The commit records, in shard order. */
  commits: ShardCommit[]
  /** What was read and hashed, in the store's bytes. */
  read: { objects: number; bytes: number; rows: number }
  /** What its manifest has to say, as far as there are commit records. */
  facts: ManifestFacts
  /** What is wrong; empty when the run is whole. */
  findings: Finding[]
}

/**
 * Reads every object of a run again, once, and proves that each prompt of the plan is exactly one sample or one failure, by
 * id, that every object has the bytes that its record says, and that the records count what is there. A prompt that was asked
 * again counts by its last outcome. Memory is bounded by the size of a few shards and the number of failures.
 */
export async function verifyRun(store: ObjectStore, run: string, options: VerifyOptions = {}): Promise<Verification> {
  const { onShard = () => {}, shardsAtATime = 4, signal } = options
  const keys = runKeys(run)
  const plan = await readJson<Plan>(store, keys.plan, undefined, { signal })
  const { specHash } = await readJson<RunRecord>(store, keys.spec, undefined, { signal })
  const rounds = await readRetryRounds(store, run)
  const sizes = [...plan.shardSizes, ...rounds.flatMap((round) => round.shardSizes)]
  const committed = new Set(await listCommittedShards(store, run))
  const ids = new PlanIds(plan)
  const read = { objects: 0, bytes: 0, rows: 0 }
  const commits: ShardCommit[] = []
  const promptObjects: CommittedObject[] = []
  const findings: Finding[] = [...committed].filter((shard) => !(shard < sizes.length)).map(strangeRecord)
  if (plan.specHash !== specHash) findings.push({ kind: 'planChanged', message: 'the plan was made of another spec' })

  const verify = (size: number, shard: number) =>
    verifyShard(store, { run, shard, size, isCommitted: committed.has(shard) }, { signal })
  const shards = mapInOrder(sizes.entries(), shardsAtATime, ([shard, size]) => verify(size, shard))
  for await (const verified of shards) {
    findings.push(...verified.findings, ...ids.take(verified))
    if (verified.commit) commits.push(verified.commit)
    if (verified.shard < plan.shardSizes.length) promptObjects.push(verified.promptObject)
    read.objects += verified.read.objects
    read.bytes += verified.read.bytes
    read.rows += verified.read.rows
    onShard(verified.shard + 1, sizes.length)
  }
  findings.push(...ids.end())
  const planHash = await hashObject(store, keys.plan, { signal })
  const facts = manifestOf({ plan, planHash, rounds, commits, promptObjects })
  return { run, shards: sizes.length, committed: commits.length, commits, read, facts, findings }
}

/** Holds the ids of prompts, shard by shard, against the plan's hash, and retry rounds against the failures before them. */
class PlanIds {
  readonly #hash = createHash('sha256')
  readonly #failed = new Set<string>()
  #arePlanned = true

  constructor(private readonly plan: Plan) {}

  take({ shard, promptIds, failedIds, promptObject }: VerifiedShard): Finding[] {
    const findings =
      shard < this.plan.shardSizes.length ? this.#planned(promptIds, promptObject) : this.#retried(shard, promptIds)
    for (const id of failedIds) this.#failed.add(id)
    return findings
  }

  end(): Finding[] {
    if (!this.#arePlanned || this.#hash.digest('hex') === this.plan.idsHash) return []
    return [{ kind: 'planChanged', message: 'the prompts are not those that the plan was made of' }]
  }

  #planned(promptIds: string[], { sha256 }: CommittedObject): Finding[] {
    // With prompts missing altogether, that their hash differs is no news.
    if (sha256 === '') this.#arePlanned = false
    for (const id of promptIds) this.#hash.update(`${id}\n`)
    return []
  }

  #retried(shard: number, promptIds: string[]): Finding[] {
    const finding = promptsFinding('planChanged', {
      ...{ shard, promptIds: promptIds.filter((id) => !this.#failed.delete(id)) },
      what: (count) => `shard ${shardName(shard)}: ${count} asked again without having failed`,
    })
    return finding ? [finding] : []
  }
}

function strangeRecord(shard: number): Finding {
  return {
    kind: 'planChanged',
    shard,
    message: `shard ${shardName(shard)} is committed, but the plan has no such shard`,
  }
}
