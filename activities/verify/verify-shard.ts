import type { CommittedObject, ShardCommit } from '../../domain/commit.ts'
import { countBy, sum } from '../../domain/counts.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import { MalformedObject, ObjectNotFound } from '../../store/errors.ts'
import { readJson } from '../../store/read-object.ts'
import type { CallOptions, ObjectStore } from '../../store/store.ts'
import { type FailureFact, failureFactOf, promptFactOf, type SampleFact, sampleFactOf } from '../upload/stored-row.ts'
import { countFindings } from './count-findings.ts'
import { type Finding, promptsFinding } from './findings.ts'
import { type VerifiedObject, verifyRows } from './verify-object.ts'

export interface VerifiedShard {
  shard: number
  /** In plan order. */
  promptIds: string[]
  /** Of prompts that ended as failures. */
  failedIds: string[]
  commit: ShardCommit | undefined
  promptObject: CommittedObject
  /** What was read for it, in the store's bytes. */
  read: { objects: number; bytes: number; rows: number }
  /** What is wrong; empty when the shard is whole. */
  findings: Finding[]
}

export interface ShardToVerify {
  run: string
  shard: number
  /** Prompts of the shard, by the plan or a retry round. */
  size: number
  isCommitted: boolean
}

/** Reads a shard's objects again: every byte hashed, every prompt found as exactly one sample or one failure. */
export async function verifyShard(
  store: ObjectStore,
  { run, shard, size, isCommitted }: ShardToVerify,
  options: CallOptions,
): Promise<VerifiedShard> {
  const keys = runKeys(run)
  const where = `shard ${shardName(shard)}`
  const findings: Finding[] = []
  const tally = new Tally()
  const keep = ({ read, findings: found }: VerifiedObject) => {
    findings.push(...found.map((finding) => ({ shard, ...finding })))
    tally.add(read)
    return found.length === 0
  }

  const key = keys.prompts(shard)
  const promptIds: string[] = []
  const prompts = await verifyRows(store, { key }, (row) => promptIds.push(promptFactOf(row).promptId), options)
  const hasPrompts = keep(prompts)
  const promptObject = {
    key,
    rows: promptIds.length,
    bytes: prompts.read?.bytes ?? 0,
    sha256: prompts.read?.sha256 ?? '',
  }
  if (hasPrompts && promptIds.length !== size) {
    findings.push({
      kind: 'planChanged',
      shard,
      key,
      message: `${key} has ${promptIds.length} prompts, the plan says ${size}`,
    })
  }
  const commit = isCommitted ? await readCommit(store, keys.commit(shard), options) : undefined
  if (!commit || 'message' in commit) {
    findings.push(commit ?? { kind: 'shardNotCommitted', shard, message: `${where} is not committed` })
    return { shard, promptIds, failedIds: [], commit: undefined, promptObject, read: tally, findings }
  }

  const samples: SampleFact[] = []
  const failures: FailureFact[] = []
  const ends = new Ends()
  let isRead = true
  for (const object of commit.sampleObjects) {
    const onRow = (row: Buffer) => ends.add(samples, sampleFactOf(row), object.key)
    isRead = keep(await verifyRows(store, object, onRow, options)) && isRead
  }
  for (const object of commit.failureObjects) {
    const onRow = (row: Buffer) => ends.add(failures, failureFactOf(row), object.key)
    isRead = keep(await verifyRows(store, object, onRow, options)) && isRead
  }
  if (hasPrompts) findings.push(...ends.findings(shard, promptIds))
  // Rows that could not be read have been told of: what they are missing from needs no finding of its own.
  if (isRead) {
    const counted = {
      ...{ run, shard, prompts: promptIds.length, samples: samples.length, failures: failures.length },
      truncated: samples.filter(({ isTruncated }) => isTruncated).length,
      reasons: countBy(failures, ({ reason }) => reason),
      sources: { samples: countBy(samples, bySource), failures: countBy(failures, bySource) },
      inputTokens: sum(samples, ({ inputTokens }) => inputTokens),
      outputTokens: sum(samples, ({ outputTokens }) => outputTokens),
    }
    findings.push(...countFindings(commit, counted, keys.commit(shard)))
  }
  const failedIds = failures.map(({ promptId }) => promptId)
  return { shard, promptIds, failedIds, commit, promptObject, read: tally, findings }
}

class Tally {
  objects = 0
  bytes = 0
  rows = 0

  add(read: VerifiedObject['read']): void {
    if (!read) return
    this.objects += 1
    this.bytes += read.bytes
    this.rows += read.rows
  }
}

/** How the prompts of a shard ended, and in which objects. */
class Ends {
  readonly #keys = new Map<string, string[]>()

  add<Fact extends { promptId: string }>(facts: Fact[], fact: Fact, key: string): void {
    facts.push(fact)
    const known = this.#keys.get(fact.promptId)
    if (known) known.push(key)
    else this.#keys.set(fact.promptId, [key])
  }

  /** Every prompt of the shard must have ended once, and nothing else. */
  findings(shard: number, promptIds: readonly string[]): Finding[] {
    const where = `shard ${shardName(shard)}`
    const own = new Set(promptIds)
    const twice = [...this.#keys].filter(([, keys]) => keys.length > 1)
    const places = [...new Set(twice.flatMap(([, keys]) => keys))].join(', ')
    return [
      promptsFinding('promptLost', {
        ...{ shard, promptIds: promptIds.filter((id) => !this.#keys.has(id)) },
        what: (count) => `${where}: ${count} ended nowhere`,
      }),
      promptsFinding('promptTwice', {
        ...{ shard, promptIds: twice.map(([id]) => id) },
        what: (count) => `${where}: ${count} ended more than once, in ${places}`,
      }),
      promptsFinding('promptStrange', {
        ...{ shard, promptIds: [...this.#keys.keys()].filter((id) => !own.has(id)) },
        what: (count) => `${where}: rows of ${count} that it does not have`,
      }),
    ].filter((finding) => finding !== undefined)
  }
}

function bySource({ source }: { source: string }): string {
  return source
}

async function readCommit(store: ObjectStore, key: string, options: CallOptions): Promise<ShardCommit | Finding> {
  try {
    const commit = await readJson<ShardCommit>(store, key, undefined, options)
    if (Array.isArray(commit?.sampleObjects) && Array.isArray(commit.failureObjects)) return commit
    return { kind: 'recordUnreadable', key, message: `${key} is no commit record` }
  } catch (error) {
    if (error instanceof MalformedObject) return { kind: 'recordUnreadable', key, message: `${key}: ${error.problem}` }
    if (error instanceof ObjectNotFound) return { kind: 'shardNotCommitted', key, message: `${key} is gone` }
    throw error
  }
}
