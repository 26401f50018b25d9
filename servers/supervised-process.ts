import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

export interface ProcessOptions {
  /** What people call it, for messages. */
  name: string
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  /** Both output streams are appended to this file. */
  logFile: string
  /** Called at every end that was not asked for. */
  onDeath?: (death: Death) => void
  /** Wait before the nth restart in a row; a process that ran for a minute starts again at the first. */
  backOffMs?: readonly number[]
}

export interface Death {
  name: string
  code: number | null
  signal: NodeJS.Signals | null
  restartInMs: number
}

const defaultBackOffMs = [200, 1_000, 5_000, 15_000, 60_000] as const
const steadyAfterMs = 60_000

/** A child process that is started again whenever it ends, until it is stopped. */
export class SupervisedProcess {
  #child: ChildProcess | undefined
  #restartTimer: NodeJS.Timeout | undefined
  #deathsInARow = 0
  #stopped = false

  constructor(private readonly options: ProcessOptions) {
    mkdirSync(dirname(options.logFile), { recursive: true })
    this.#start()
  }

  get name(): string {
    return this.options.name
  }

  /** Of the process that runs now; undefined between a death and the restart. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Sends a signal without ending the supervision: after a SIGKILL it comes back. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Ends the process for good: SIGTERM, and SIGKILL after the grace time. */
  async stop(graceMs = 10_000): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#restartTimer)
    const child = this.#child
    if (!child) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const killTimer = setTimeout(() => child.kill('SIGKILL'), graceMs)
    await exited
    clearTimeout(killTimer)
  }

  #start(): void {
    const { command, args, env, logFile } = this.options
    const output = openSync(logFile, 'a')
    const startedAt = Date.now()
    // A group of its own: Ctrl-C reaches us alone, and we end our children in order.
    const child = spawn(command, args, { env, detached: true, stdio: ['ignore', output, output] })
    closeSync(output)
    this.#child = child
    let isOver = false
    const over = (code: number | null, signal: NodeJS.Signals | null) => {
      if (isOver) return
      isOver = true
      this.#child = undefined
      if (!this.#stopped) this.#restartLater(startedAt, code, signal)
    }
    child.once('exit', over)
    child.once('error', () => over(null, null))
  }

  #restartLater(startedAt: number, code: number | null, signal: NodeJS.Signals | null): void {
    const backOffMs = this.options.backOffMs ?? defaultBackOffMs
    if (Date.now() - startedAt > steadyAfterMs) this.#deathsInARow = 0
    const restartInMs = backOffMs[Math.min(this.#deathsInARow, backOffMs.length - 1)] ?? 0
    this.#deathsInARow += 1
    this.options.onDeath?.({ name: this.options.name, code, signal, restartInMs })
    this.#restartTimer = setTimeout(() => this.#start(), restartInMs)
  }
}
