import type { Prompt } from '../../domain/prompt.ts'
import { readBytes } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'

/** A prompt of a shard, still as the bytes it is stored in: a shard may be large, and few of its prompts are asked at once. */
export interface StoredPrompt {
  promptId: string
  source: string
  read(): Prompt
}

/** Both come first in every row. */
const headPattern = /^\{"promptId":"([^"]+)","source":("(?:[^"\\]|\\.)*")/
const headBytes = 512

/** The prompts of a shard, in plan order. */
export async function readPrompts(store: ObjectStore, key: string): Promise<StoredPrompt[]> {
  const bytes = await readBytes(store, key)
  const prompts: StoredPrompt[] = []
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start)
    const end = newline === -1 ? bytes.length : newline
    prompts.push(storedPrompt(bytes.subarray(start, end), `${store.uri}/${key}:${prompts.length + 1}`))
    start = end + 1
  }
  return prompts
}

function storedPrompt(line: Buffer, where: string): StoredPrompt {
  const [, promptId, source] = headPattern.exec(line.toString('utf8', 0, Math.min(headBytes, line.length))) ?? []
  if (promptId === undefined || source === undefined)
    throw new Error(`${where}: the row does not begin with promptId and source`)
  return { promptId, source: JSON.parse(source), read: () => JSON.parse(line.toString()) }
}
