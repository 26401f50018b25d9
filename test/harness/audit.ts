import type { ShardCommit } from '../../domain/commit.ts'
import type { Prompt } from '../../domain/prompt.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Failure, Sample } from '../../domain/sample.ts'
import { readLines } from '../../store/read-lines.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'

export interface Audit {
  prompts: Map<string, Prompt>
  samples: Map<string, Sample>
  failures: Map<string, Failure>
  /** PromptIds that stand in more than one row of samples and failures. */
  twice: string[]
  /** PromptIds of the plan that ended nowhere. */
  missing: string[]
  /** PromptIds of samples or failures that are not of the plan. */
  strange: string[]
  commits: ShardCommit[]
}

/** Reads everything that a run left in its store, by listing, without trusting any record of what there should be. */
export async function auditRun(store: ObjectStore, run: string): Promise<Audit> {
  const keys = runKeys(run)
  const prompts = new Map(
    (await readRows<Prompt>(store, keys.promptsFolder)).map((prompt) => [prompt.promptId, prompt]),
  )
  const samples = await readRows<Sample>(store, keys.samplesFolder)
  const failures = await readRows<Failure>(store, keys.failuresFolder)
  const ids = [...samples, ...failures].map((row) => row.promptId)
  const seen = new Set<string>()
  const commits: ShardCommit[] = []
  for await (const { key } of store.list(keys.shardsFolder)) commits.push(await readJson<ShardCommit>(store, key))
  return {
    prompts,
    samples: new Map(samples.map((sample) => [sample.promptId, sample])),
    failures: new Map(failures.map((failure) => [failure.promptId, failure])),
    twice: ids.filter((id) => seen.has(id) || !seen.add(id)),
    missing: [...prompts.keys()].filter((id) => !seen.has(id)),
    strange: [...seen].filter((id) => !prompts.has(id)),
    commits,
  }
}

async function readRows<Row>(store: ObjectStore, folder: string): Promise<Row[]> {
  const rows: Row[] = []
  for await (const { key } of store.list(folder)) {
    for await (const line of readLines(store, key)) rows.push(JSON.parse(line))
  }
  return rows
}
