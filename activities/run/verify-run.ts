import { createHash } from 'node:crypto'
import type { CommittedObject, RunManifest, ShardCommit } from '../../domain/commit.ts'
import { sum, sumCounts } from '../../domain/counts.ts'
import type { Plan } from '../../domain/plan.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import { hashObject } from '../../store/hash-object.ts'
import { readLines } from '../../store/read-lines.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { verifyHash } from '../upload/verify-object.ts'
import { Commits } from './commits.ts'

/** The store does not hold what the run's records say; the message has a line per finding. */
export class RunNotWhole extends Error {
  override readonly name = 'RunNotWhole'
  constructor(
    run: string,
    readonly findings: readonly string[],
  ) {
    super(`Run ${run} is not whole:\n${findings.map((finding) => `  - ${finding}`).join('\n')}`)
  }
}

/** More findings than this are counted, not listed. */
const longestList = 20

/**
 * Reads every object of a run again and proves that each prompt of the plan is exactly one sample or one failure, by id,
 * and that every object has the bytes that its record says. Memory is bounded by the size of a shard. Returns the manifest.
 * Throws `RunNotWhole`.
 */
export async function verifyRun(
  store: ObjectStore,
  run: string,
  onShard: (shard: number, shards: number) => void,
  now: () => number,
): Promise<RunManifest> {
  const keys = runKeys(run)
  const plan = await readJson<Plan>(store, keys.plan)
  const commits = new Map((await new Commits(store, run).read()).map((commit) => [commit.shard, commit]))
  const findings: string[] = []
  const promptObjects: CommittedObject[] = []
  const allIds = createHash('sha256')
  for (const [shard, size] of plan.shardSizes.entries()) {
    onShard(shard, plan.shardSizes.length)
    const key = keys.prompts(shard)
    const ids = await readIds(store, key)
    for (const id of ids) allIds.update(`${id}\n`)
    const { bytes } = (await store.head(key)) ?? { bytes: 0 }
    promptObjects.push({ key, rows: ids.length, bytes, sha256: await hashObject(store, key) })
    const commit = commits.get(shard)
    if (ids.length !== size) findings.push(`${key} has ${ids.length} prompts, the plan says ${size}`)
    if (!commit) findings.push(`shard ${shardName(shard)} is not committed`)
    else findings.push(...(await findingsOf(store, ids, commit)))
  }
  if (allIds.digest('hex') !== plan.idsHash) findings.push('the prompts are not those that the plan was made of')
  if (findings.length > 0) throw new RunNotWhole(run, shortened(findings))
  return manifestOf(plan, [...commits.values()], promptObjects, await hashObject(store, keys.plan), now())
}

async function findingsOf(store: ObjectStore, promptIds: string[], commit: ShardCommit): Promise<string[]> {
  const findings: string[] = []
  const ends = new Map<string, number>()
  for (const object of [...commit.sampleObjects, ...commit.failureObjects]) {
    try {
      await verifyHash(store, object)
      const ids = await readIds(store, object.key)
      if (ids.length !== object.rows) findings.push(`${object.key} has ${ids.length} rows instead of ${object.rows}`)
      for (const id of ids) ends.set(id, (ends.get(id) ?? 0) + 1)
    } catch (error) {
      findings.push((error as Error).message)
    }
  }
  const where = `shard ${shardName(commit.shard)}`
  for (const id of promptIds) {
    const count = ends.get(id) ?? 0
    if (count !== 1) findings.push(`${where}: prompt ${id} ended ${count === 0 ? 'nowhere' : `${count} times`}`)
    ends.delete(id)
  }
  for (const id of ends.keys()) findings.push(`${where}: ${id} is no prompt of it`)
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

function manifestOf(
  plan: Plan,
  commits: ShardCommit[],
  promptObjects: CommittedObject[],
  planHash: string,
  now: number,
): RunManifest {
  const sampleObjects = commits.flatMap((commit) => commit.sampleObjects)
  return {
    run: plan.run,
    specHash: plan.specHash,
    planHash,
    model: commits[0]?.model ?? '',
    weightVersion: commits[0]?.weightVersion ?? '',
    prompts: plan.prompts,
    samples: sum(commits, (commit) => commit.samples),
    failures: sum(commits, (commit) => commit.failures),
    truncated: sum(commits, (commit) => commit.truncated),
    reasons: sumCounts(commits.map((commit) => commit.reasons)),
    sources: {
      samples: sumCounts(commits.map((commit) => commit.sources.samples)),
      failures: sumCounts(commits.map((commit) => commit.sources.failures)),
    },
    inputTokens: sum(commits, (commit) => commit.inputTokens),
    outputTokens: sum(commits, (commit) => commit.outputTokens),
    promptObjects,
    sampleObjects,
    failureObjects: commits.flatMap((commit) => commit.failureObjects),
    sampleBytes: sum(sampleObjects, (object) => object.bytes),
    completedAt: new Date(now).toISOString(),
  }
}

function shortened(findings: string[]): string[] {
  if (findings.length <= longestList) return findings
  return [...findings.slice(0, longestList), `and ${findings.length - longestList} more`]
}
