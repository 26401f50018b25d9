import type { Prompt } from '../../domain/prompt.ts'
import { readLines } from '../../store/read-lines.ts'
import type { ObjectStore } from '../../store/store.ts'

/** The prompts of a shard, in plan order. */
export async function readPrompts(store: ObjectStore, key: string): Promise<Prompt[]> {
  const prompts: Prompt[] = []
  for await (const line of readLines(store, key)) prompts.push(JSON.parse(line))
  return prompts
}
