import type { Worker } from '@temporalio/worker'

/** Runs workers until SIGTERM or SIGINT, or until one of them fails; then ends all of them in order. */
export async function runUntilSignal(workers: Worker[], onSignal: () => void = () => {}): Promise<void> {
  const leave = () => {
    onSignal()
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  process.once('SIGTERM', leave)
  process.once('SIGINT', leave)
  try {
    await Promise.all(workers.map((worker) => worker.run()))
  } catch (error) {
    leave()
    throw error
  }
}
