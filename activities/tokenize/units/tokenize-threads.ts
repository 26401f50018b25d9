import { Piscina } from 'piscina'
import { transferableOf } from '../../../formats/pieces.ts'
import { type TokenizeTasks, tokenizeTasks } from './tokenize-tasks.ts'

/** Tasks that run somewhere until they are no longer needed. */
export interface RunningTokenizeTasks {
  /** Once the signal is aborted a task fails, and what it was at is broken off. */
  readonly tasks: (signal: AbortSignal) => TokenizeTasks
  close(): Promise<void>
}

/** A thread holds a vocabulary, the words it has met, and the rows of one block. */
const threadHeapMb = 1024
/** Threads end when they have had nothing to do for so long. */
const idleMs = 60_000

// Only the compiled code can be started as a thread; run from its sources, all happens in one.
const worker = import.meta.url.endsWith('.js') ? new URL('./tokenize-worker.js', import.meta.url) : undefined

/** Starts threads as they are needed, at most so many, and keeps them for the next unit: reading a vocabulary takes seconds. */
export function startTokenizeThreads(threads: number): RunningTokenizeTasks {
  if (!worker) return inThisThread()
  const pool = new Piscina<unknown, never>({
    filename: worker.href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
  })
  return {
    tasks: (signal) => ({
      tokenize: (input) => pool.run(input, { name: 'tokenize', signal, transferList: transferableOf(input.piece) }),
    }),
    close: () => pool.destroy(),
  }
}

/** One task at a time, as in a thread. */
function inThisThread(): RunningTokenizeTasks {
  const { tokenize } = tokenizeTasks()
  let last: Promise<unknown> = Promise.resolve()
  return {
    tasks: (signal) => ({
      tokenize: (input) => {
        const result = last.then(() => {
          signal.throwIfAborted()
          return tokenize(input)
        })
        last = result.catch(() => {})
        return result
      },
    }),
    close: async () => {
      await last
    },
  }
}
