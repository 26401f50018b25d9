import { workerData } from 'node:worker_threads'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { MergeContext, MergeTasks } from './merge-task-types.ts'
import { mergeTasks } from './merge-tasks.ts'

/** What each thread runs: the tasks by their names. */
const tasks = mergeTasks(workerData as MergeContext)

/** The memory of the pieces goes back to the thread that cut them. */
export async function scan(input: Parameters<MergeTasks['scan']>[0]) {
  const batch = await tasks.scan(input)
  return move({ [transferableSymbol]: batch.spent, [valueSymbol]: batch })
}

export const findDuplicates: MergeTasks['findDuplicates'] = (input) => tasks.findDuplicates(input)
export const findNear: MergeTasks['findNear'] = (input) => tasks.findNear(input)
export const order: MergeTasks['order'] = (input) => tasks.order(input)

/** Moved and not copied to the thread that asked: it is megabytes. */
export async function encode(input: Parameters<MergeTasks['encode']>[0]) {
  const block = await tasks.encode(input)
  // Small buffers share their memory with others, which can't be moved.
  const isShared = block.bytes.byteLength !== block.bytes.buffer.byteLength
  const own = isShared ? { ...block, bytes: new Uint8Array(block.bytes) } : block
  return move({ [transferableSymbol]: [own.bytes.buffer], [valueSymbol]: own })
}
