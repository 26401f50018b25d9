import type { Command } from '@commander-js/extra-typings'
import { CommanderError } from 'commander'

/** 0 well · 1 the answer is no · 2 wrong use · 3 something it needs is out of reach. */
export const exitCodes = { well: 0, no: 1, wrongUse: 2, outOfReach: 3 } as const

/** The answer to what was asked is no; the message says why. */
export class AnswerIsNo extends Error {
  override readonly name = 'AnswerIsNo'
}

/** The command was called in a way that can't work. */
export class WrongUse extends Error {
  override readonly name = 'WrongUse'
}

const outOfReach = new Set([
  ...['NoTemporal', 'NoTemporalServer', 'ServiceError', 'NoReply'],
  ...['StoreUnavailable', 'StoreRefused', 'BucketNotFound'],
])

/** Runs the command line; errors go to standard error as sentences, and the exit code says of what kind they are. */
export async function runCommand(program: Command, argv: string[]): Promise<void> {
  program.exitOverride()
  for (const command of program.commands) command.exitOverride()
  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    const isReported = error instanceof CommanderError
    if (!isReported) process.stderr.write(`longhaul: ${messageOf(error)}\n`)
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.well : exitCodes.wrongUse
  if (error instanceof WrongUse) return exitCodes.wrongUse
  if (error instanceof Error && outOfReach.has(error.name)) return exitCodes.outOfReach
  return exitCodes.no
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isUnexpected = error instanceof TypeError || error instanceof ReferenceError
  return isUnexpected ? (error.stack ?? error.message) : error.message
}
