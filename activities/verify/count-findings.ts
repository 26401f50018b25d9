import type { ShardCommit } from '../../domain/commit.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Finding } from './findings.ts'

/** What the rows of a shard come to, under the names that its commit record has for it. */
export type CountedShard = Pick<
  ShardCommit,
  | 'run'
  | 'shard'
  | 'prompts'
  | 'samples'
  | 'failures'
  | 'truncated'
  | 'reasons'
  | 'sources'
  | 'inputTokens'
  | 'outputTokens'
>

/** Where a commit record says something else than the rows that it vouches for. */
export function countFindings(commit: ShardCommit, counted: CountedShard, key: string): Finding[] {
  const { root } = runKeys(counted.run)
  const { shard } = counted
  const objects = [...commit.sampleObjects, ...commit.failureObjects]
  const strange = objects.filter((object) => !object.key.startsWith(root)).map((object) => `it names ${object.key}`)
  return [...differences(commit, counted, ''), ...strange].map((difference) => ({
    kind: 'wrongCount',
    shard,
    key,
    message: `${key}: ${difference}`,
  }))
}

/** In which of the expected fields a record differs, a line each. The order of fields does not matter. */
export function differences(record: unknown, expected: unknown, path: string): string[] {
  if (typeof expected !== 'object' || expected === null || typeof record !== 'object' || record === null) {
    return record === expected ? [] : [`${path} is ${shown(record)} instead of ${shown(expected)}`]
  }
  const fields = path === '' ? Object.keys(expected) : [...new Set([...Object.keys(expected), ...Object.keys(record)])]
  return fields.flatMap((field) =>
    differences(
      (record as Record<string, unknown>)[field],
      (expected as Record<string, unknown>)[field],
      path === '' ? field : `${path}.${field}`,
    ),
  )
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
