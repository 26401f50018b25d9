/** What can be wrong with a run in its store: each kind with the heading that it has in a report. */
export const findingKinds = {
  shardNotCommitted: 'shards without a commit record',
  recordUnreadable: 'records that can not be read',
  planChanged: 'plan and prompts that do not fit together',
  objectMissing: 'objects that are not there',
  objectChanged: 'objects that are not what was written',
  objectUnreadable: 'objects that can not be read',
  promptLost: 'prompts that ended nowhere',
  promptTwice: 'prompts that ended more than once',
  promptStrange: 'rows of prompts that are not of their shard',
  wrongCount: 'counts of commit records that the rows do not have',
  manifestWrong: 'differences between manifest.json and what is there',
} as const

export type FindingKind = keyof typeof findingKinds

export interface Finding {
  kind: FindingKind
  /** One sentence with what was found where. */
  message: string
  shard?: number
  /** Key of the object that it is about. */
  key?: string
  /** Prompts that it is about: how many, and the first of them. */
  prompts?: { count: number; first: string[] }
}

/** More are counted, not listed: a lost object of thousands of rows is one finding. */
const promptsListed = 20

/** A finding about prompts; undefined when there are none. */
export function promptsFinding(
  kind: FindingKind,
  { shard, promptIds, what }: { shard: number; promptIds: readonly string[]; what: (count: string) => string },
): Finding | undefined {
  if (promptIds.length === 0) return undefined
  const first = promptIds.slice(0, promptsListed)
  const more = promptIds.length > first.length ? `, and ${promptIds.length - first.length} more` : ''
  const message = `${what(promptIds.length === 1 ? '1 prompt' : `${promptIds.length} prompts`)}: ${first.join(', ')}${more}`
  return { kind, message, shard, prompts: { count: promptIds.length, first } }
}
