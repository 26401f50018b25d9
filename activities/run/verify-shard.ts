import type { CommittedObject, ShardCommit } from '../../domain/commit.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import { hashObject } from '../../store/hash-object.ts'
import { readLines } from '../../store/read-lines.ts'
import type { ObjectStore } from '../../store/store.ts'
import { verifyHash } from '../upload/verify-object.ts'

export interface VerifiedShard {
  /** In plan order. */
  promptIds: string[]
  /** Of prompts that ended as failures. */
  failedIds: string[]
  promptObject: CommittedObject
  /** What is wrong, a line each; empty when the shard is whole. */
  findings: string[]
}

/** Reads a shard's objects again: every byte hashed, every prompt found as exactly one sample or one failure. */
export async function verifyShard(
  store: ObjectStore,
  run: string,
  shard: number,
  size: number,
  commit: ShardCommit | undefined,
): Promise<VerifiedShard> {
  const key = runKeys(run).prompts(shard)
  const promptIds = await readIds(store, key)
  const { bytes } = (await store.head(key)) ?? { bytes: 0 }
  const promptObject = { key, rows: promptIds.length, bytes, sha256: await hashObject(store, key) }
  const findings = promptIds.length === size ? [] : [`${key} has ${promptIds.length} prompts, the plan says ${size}`]
  if (!commit) {
    findings.push(`shard ${shardName(shard)} is not committed`)
    return { promptIds, failedIds: [], promptObject, findings }
  }
  const ended = [
    await readEnds(store, commit.sampleObjects, findings),
    await readEnds(store, commit.failureObjects, findings),
  ]
  findings.push(...conservationFindings(`shard ${shardName(shard)}`, promptIds, ended.flat()))
  return { promptIds, failedIds: ended[1] ?? [], promptObject, findings }
}

async function readEnds(store: ObjectStore, objects: CommittedObject[], findings: string[]): Promise<string[]> {
  const ends: string[] = []
  for (const object of objects) {
    try {
      await verifyHash(store, object)
      const ids = await readIds(store, object.key)
      if (ids.length !== object.rows) findings.push(`${object.key} has ${ids.length} rows instead of ${object.rows}`)
      ends.push(...ids)
    } catch (error) {
      findings.push((error as Error).message)
    }
  }
  return ends
}

function conservationFindings(where: string, promptIds: string[], ends: string[]): string[] {
  const counts = new Map<string, number>()
  for (const id of ends) counts.set(id, (counts.get(id) ?? 0) + 1)
  const findings: string[] = []
  for (const id of promptIds) {
    const count = counts.get(id) ?? 0
    if (count !== 1) findings.push(`${where}: prompt ${id} ended ${count === 0 ? 'nowhere' : `${count} times`}`)
    counts.delete(id)
  }
  for (const id of counts.keys()) findings.push(`${where}: ${id} is no prompt of it`)
  return findings
}

const idPattern = /^\{"promptId":"([^"]+)"/

/** PromptIds of the rows of an object; it is every row's first key. */
async function readIds(store: ObjectStore, key: string): Promise<string[]> {
  const ids: string[] = []
  for await (const line of readLines(store, key)) {
    const id = idPattern.exec(line)?.[1]
    if (id === undefined) throw new Error(`${store.uri}/${key}: row ${ids.length + 1} does not begin with its promptId`)
    ids.push(id)
  }
  return ids
}
