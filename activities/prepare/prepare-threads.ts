import { Piscina } from 'piscina'
import { transferableOf } from '../../formats/pieces.ts'
import { type PrepareTasks, prepareTasks, type TaskContext } from './prepare-tasks.ts'

/** Tasks that run somewhere until they are no longer needed. */
export interface RunningTasks {
  readonly tasks: PrepareTasks
  close(): Promise<void>
}

export type StartTasks = (context: TaskContext, threads: number, signal: AbortSignal) => RunningTasks

/** The heap of a thread holds rows of one batch at a time. */
const threadHeapMb = 1024

// Only the compiled code can be started as a thread; run from its sources, all happens in one.
const worker = import.meta.url.endsWith('.js') ? new URL('./prepare-worker.js', import.meta.url) : undefined

/** Runs the tasks in threads. Once the signal is aborted they fail, and what they were at is broken off. */
export const startThreads: StartTasks = (context, threads, signal) => {
  if (!worker) return { tasks: oneAtATime(prepareTasks(context)), close: async () => {} }
  const pool = new Piscina<unknown, never>({
    filename: worker.href,
    minThreads: threads,
    maxThreads: threads,
    workerData: context,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
  })
  return {
    tasks: {
      scan: (input) =>
        pool.run(input, {
          name: 'scan',
          signal,
          transferList: input.pieces.flatMap(({ piece }) => transferableOf(piece)),
        }),
      order: (input) => pool.run(input, { name: 'order', signal }),
      sketch: (input) => pool.run(input, { name: 'sketch', signal }),
      gather: (input) => pool.run(input, { name: 'gather', signal }),
    },
    close: () => pool.destroy(),
  }
}

/** Scans share their writer, so the next begins when the one before is over, as it does in a thread. */
function oneAtATime(tasks: PrepareTasks): PrepareTasks {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...tasks,
    scan(input) {
      const scanned = last.then(() => tasks.scan(input))
      last = scanned.catch(() => {})
      return scanned
    },
  }
}
