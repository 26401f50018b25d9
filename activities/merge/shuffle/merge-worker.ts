import { threadId, workerData } from 'node:worker_threads'
import type { FlushedThread, MergeContext, MergeTasks } from './merge-task-types.ts'
import { mergeTasks } from './merge-tasks.ts'

/** What each thread runs: the tasks by their names. */
const tasks = mergeTasks(workerData as MergeContext, `thread-${threadId}`)

export const scan: MergeTasks['scan'] = (input) => tasks.scan(input)
export const findDuplicates: MergeTasks['findDuplicates'] = (input) => tasks.findDuplicates(input)
export const findNear: MergeTasks['findNear'] = (input) => tasks.findNear(input)
export const order: MergeTasks['order'] = (input) => tasks.order(input)
export const encode: MergeTasks['encode'] = (input) => tasks.encode(input)

/** Asked of all threads at once: each waits for the others, so that none gets it twice. */
export async function flush(input: { arrivals: SharedArrayBuffer; threads: number }): Promise<FlushedThread> {
  const flushed = await tasks.flush()
  const arrived = new Int32Array(input.arrivals)
  Atomics.add(arrived, 0, 1)
  Atomics.notify(arrived, 0)
  for (let count = Atomics.load(arrived, 0); count < input.threads; count = Atomics.load(arrived, 0)) {
    Atomics.wait(arrived, 0, count)
  }
  return flushed
}
