import { Piscina } from 'piscina'
import { messageOf } from '../../formats/bad-file.ts'
import { isReadByLibrary, transferableOf } from '../../formats/pieces.ts'
import type { Batch } from './batches.ts'
import { type PrepareTasks, prepareTasks, type TaskContext } from './prepare-tasks.ts'
import { emptyCounts, type ScannedBatch } from './scan-batch.ts'
import type { PrepareSizes } from './sizes.ts'

/** Tasks that run somewhere until they are no longer needed. */
export interface RunningTasks {
  readonly tasks: PrepareTasks
  close(): Promise<void>
}

export type StartTasks = (context: TaskContext, threads: number, signal: AbortSignal) => RunningTasks

/**
 * The heap of a thread holds rows of one batch at a time. Nearly all of it is garbage soon: with more room for the young
 * generation than Node's default it is collected less often, which saves a tenth of the time.
 */
const resourceLimits = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 32 }

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
    resourceLimits,
  })
  return {
    tasks: {
      scan: (batch) => scanIn(pool, batch, context.sizes, signal),
      order: (input) => pool.run(input, { name: 'order', signal }),
      sketch: (input) => pool.run(input, { name: 'sketch', signal }),
      gather: (input) => pool.run(input, { name: 'gather', signal }),
    },
    close: () => pool.destroy(),
  }
}

/** Scans in a thread. A file whose damage makes the thread loop or end is a damaged file, not the end of prepare. */
async function scanIn(
  pool: Piscina<unknown, never>,
  batch: Batch,
  sizes: PrepareSizes,
  signal: AbortSignal,
): Promise<ScannedBatch> {
  const transferList = batch.pieces.flatMap(({ piece }) => transferableOf(piece))
  const suspect = batch.pieces.find(({ piece }) => isReadByLibrary(piece))
  if (!suspect || !isReadByLibrary(suspect.piece)) return pool.run(batch, { name: 'scan', signal, transferList })
  const limitMs = Math.ceil(sizes.pieceMs + (sizes.pieceMsPerMb * suspect.piece.sizeBytes) / 1024 ** 2)
  // By hand: signals that AbortSignal.any makes live as long as the run's own on Node 20.
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal.reason)
  let isOverdue = false
  const timer = setTimeout(() => {
    isOverdue = true
    stop.abort()
  }, limitMs)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await pool.run(batch, { name: 'scan', signal: stop.signal })
  } catch (error) {
    if (signal.aborted) throw error
    const found = isOverdue
      ? `reading it had not ended after ${Math.round(limitMs / 1000)} s`
      : `reading it ended the thread: ${messageOf(error)}`
    return damaged(batch.batch, suspect.file, found)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

function damaged(batch: number, file: number, found: string): ScannedBatch {
  return { batch, spills: [], pieces: [{ ...emptyCounts(file), bad: { reason: 'corrupt', found } }] }
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
