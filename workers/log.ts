import { DefaultLogger, type LogEntry, Runtime } from '@temporalio/worker'
import { type Logger, pino } from 'pino'

/** A line of JSON for each message on standard error, with the process's own facts in each. */
export function createLog(facts: Record<string, unknown>): Logger {
  return pino({ base: facts, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true }))
}

/** Sends the Temporal SDK's warnings and errors to the log, and leaves signals to us. Once in a process, first of all. */
export function installRuntime(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }: LogEntry) => {
      if (level === 'ERROR') log.error({ ...meta, error: undefined, ...errorOf(meta) }, message)
      else log.warn({ ...meta, error: undefined, ...errorOf(meta) }, message)
    }),
    shutdownSignals: [],
  })
}

function errorOf(meta: LogEntry['meta']): { error?: string } {
  const error = meta?.error as unknown
  return error === undefined ? {} : { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}
