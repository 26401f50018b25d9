import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Commits } from '../../activities/run/commits.ts'
import { defaultTaskQueue, workflowIds } from '../../domain/dispatch.ts'
import type { Progress } from '../../domain/progress.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { createOpenStore } from '../../store/open-store.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { LocalCluster } from '../../workers/local-cluster.ts'

/** Writes a source of different prompts. */
export async function writeSource(folder: string, prompts: number): Promise<string> {
  const file = join(folder, 'prompts.jsonl')
  const lines = function* () {
    for (let n = 0; n < prompts; n++) {
      yield `${JSON.stringify({ messages: [{ role: 'user', content: `Question ${n}: what follows from ${n * 7919}?` }] })}\n`
    }
  }
  await pipeline(lines, createWriteStream(file))
  return file
}

export interface GeneratedRun {
  /** When the plan was made (ms since the epoch). */
  startedAt: number
  /** From the plan to the last commit. */
  generatingSeconds: number
  samples: number
  failures: number
  outputTokens: number
}

/** Does a run, calling `onShare` with the part that is done every now and then, and times its generation. */
export async function generateRun(
  cluster: LocalCluster,
  spec: { run: string } & Record<string, unknown>,
  onShare: (share: number) => Promise<void>,
): Promise<GeneratedRun> {
  const { run } = spec
  const handle = await cluster.client.workflow.start('expandDataset', {
    taskQueue: defaultTaskQueue,
    workflowId: workflowIds.run(run),
    args: [spec],
  })
  const store = createOpenStore()(cluster.environment.defaultStore)
  let hasEnded = false
  const ended = handle.result().finally(() => {
    hasEnded = true
  })
  while (!hasEnded) {
    await Promise.race([sleep(200), ended])
    await onShare(await shareOf(store, run))
  }
  await ended
  const commits = await new Commits(store, run).read()
  const startedAt = (await store.head(runKeys(run).plan))?.modifiedAt.getTime() ?? 0
  const lastCommit = Math.max(...commits.map((commit) => Date.parse(commit.committedAt)))
  const total = (count: (commit: (typeof commits)[number]) => number) =>
    commits.reduce((sum, commit) => sum + count(commit), 0)
  return {
    startedAt,
    generatingSeconds: (lastCommit - startedAt) / 1000,
    samples: total((commit) => commit.samples),
    failures: total((commit) => commit.failures),
    outputTokens: total((commit) => commit.outputTokens),
  }
}

async function shareOf(store: ObjectStore, run: string): Promise<number> {
  const { progress } = runKeys(run)
  if (!(await store.head(progress))) return 0
  const { total, completed, failed } = await readJson<Progress>(store, progress)
  return total > 0 ? (completed + failed) / total : 0
}
