import { Piscina } from 'piscina'
import type { MergeContext, MergeTasks } from './merge-task-types.ts'
import { mergeTasks } from './merge-tasks.ts'

/** Tasks that run somewhere until they are no longer needed. */
export interface RunningMergeTasks {
  readonly tasks: MergeTasks
  close(): Promise<void>
}

/** The heap of a thread holds the rows of one batch at a time. */
const threadHeapMb = 512

// Only the compiled code can be started as a thread; run from its sources, all happens in one.
const worker = import.meta.url.endsWith('.js') ? new URL('./merge-worker.js', import.meta.url) : undefined

/** Runs the tasks in threads. Once the signal is aborted they fail, and what they were at is broken off. */
export function startMergeThreads(context: MergeContext, threads: number, signal?: AbortSignal): RunningMergeTasks {
  if (!worker) return inThisThread(context)
  const pool = new Piscina<unknown, never>({
    filename: worker.href,
    minThreads: threads,
    maxThreads: threads,
    workerData: context,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
  })
  return {
    tasks: {
      scan: (input) => pool.run(input, { name: 'scan', signal }),
      flush: () => {
        const arrivals = new SharedArrayBuffer(4)
        const flushing = Array.from({ length: threads }, () =>
          pool.run({ arrivals, threads }, { name: 'flush', signal }),
        )
        return Promise.all(flushing)
      },
      findDuplicates: (input) => pool.run(input, { name: 'findDuplicates', signal }),
      findNear: (input) => pool.run(input, { name: 'findNear', signal }),
      order: (input) => pool.run(input, { name: 'order', signal }),
      encode: (input) => pool.run(input, { name: 'encode', signal }),
    },
    close: () => pool.destroy(),
  }
}

/** One task at a time, as in a thread. */
function inThisThread(context: MergeContext): RunningMergeTasks {
  const tasks = mergeTasks(context, 'thread')
  let last: Promise<unknown> = Promise.resolve()
  const inTurn =
    <In, Out>(task: (input: In) => Promise<Out>) =>
    (input: In): Promise<Out> => {
      const result = last.then(() => task(input))
      last = result.catch(() => {})
      return result
    }
  return {
    tasks: {
      scan: inTurn(tasks.scan),
      flush: async () => [await inTurn(tasks.flush)(undefined)],
      findDuplicates: inTurn(tasks.findDuplicates),
      findNear: inTurn(tasks.findNear),
      order: inTurn(tasks.order),
      encode: inTurn(tasks.encode),
    },
    close: async () => {
      await last
      tasks.close()
    },
  }
}
