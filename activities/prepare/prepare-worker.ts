import { workerData } from 'node:worker_threads'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { GatheredRows } from '../../shuffle/gather-rows.ts'
import { type PrepareTasks, prepareTasks, type TaskContext } from './prepare-tasks.ts'

/** What each thread runs: the tasks by their names. */
const tasks = prepareTasks(workerData as TaskContext)

export const scan: PrepareTasks['scan'] = (input) => tasks.scan(input)
export const sketch: PrepareTasks['sketch'] = (input) => tasks.sketch(input)
export const order: PrepareTasks['order'] = (input) => tasks.order(input)

/** Moved and not copied to the thread that asked: it is megabytes. */
export async function gather(input: Parameters<PrepareTasks['gather']>[0]) {
  const rows = await tasks.gather(input)
  return move({ [transferableSymbol]: buffersOf(rows), [valueSymbol]: rows })
}

function buffersOf(rows: GatheredRows): ArrayBufferLike[] {
  return Object.values<Uint8Array | Uint32Array>({ ...rows }).map((array) => array.buffer)
}
