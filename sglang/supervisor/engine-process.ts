import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Launch } from './launch.ts'
import { type Diagnosis, diagnose } from './log-tail.ts'
import { type RestartBudget, RestartPlan } from './restart-plan.ts'

export interface EngineProcessOptions {
  launch: Launch
  env: NodeJS.ProcessEnv
  logFile: string
  /** Wait before the very first start, so that servers of one machine do not all load at once. */
  startDelayMs: number
  /** Longest time from start to being well. Loading may take many minutes. */
  startLimitMs: number
  /** While loading, longest time without a line in the log. */
  silenceLimitMs: number
  /** After SIGTERM, before SIGKILL. A draining server may wait for ever for requests that it has lost count of. */
  stopGraceMs: number
  budget: RestartBudget
  now: () => number
  log: (message: string, facts?: Record<string, unknown>) => void
}

/**
 * One SGLang server, started again whenever it ends: any exit is a crash, whatever its code. It is ended when it does not
 * come up, and when whoever watches it says that it hangs.
 */
export class EngineProcess {
  #child: ChildProcess | undefined
  #startedAt = 0
  #logStart = 0
  #isUp = false
  #isStopped = false
  #diagnosis: Diagnosis | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #plan: RestartPlan

  constructor(private readonly options: EngineProcessOptions) {
    this.#plan = new RestartPlan(options.budget)
    mkdirSync(dirname(options.logFile), { recursive: true })
    this.#timer = setTimeout(() => void this.#start(), options.startDelayMs)
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** How it stands, for people. */
  get status(): string {
    const seconds = Math.round((this.options.now() - this.#startedAt) / 1000)
    if (this.#child) return this.#isUp ? `up for ${seconds} s` : `loading for ${seconds} s`
    if (this.#diagnosis) return `down: ${this.#diagnosis.summary}`
    return 'not started yet'
  }

  /** Whoever looks at the server found it well: from now on only its exit, or a hang, ends it. */
  isWell(): void {
    this.#isUp = true
    this.#plan.cameUp(this.options.now())
  }

  /** Ends a server that hangs, and starts it again. */
  async restart(why: string): Promise<void> {
    this.options.log('engine is restarted', { why })
    await this.#end()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#end()
  }

  async #start(): Promise<void> {
    if (this.#isStopped) return
    const { launch, env, logFile, log } = this.options
    this.#logStart = await stat(logFile).then(
      ({ size }) => size,
      () => 0,
    )
    const output = openSync(logFile, 'a')
    const child = spawn(launch.program, launch.args, {
      env: { ...env, ...launch.env },
      // Its whole tree is ended together.
      detached: true,
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    this.#child = child
    this.#isUp = false
    this.#startedAt = this.options.now()
    log('engine is starting', { pid: child.pid, log: logFile })
    child.once('error', (error) => void this.#ended(child, error.message))
    child.once('exit', (code, signal) => void this.#ended(child, signal ?? `exit code ${code}`))
    this.#watchLoading(child)
  }

  async #ended(child: ChildProcess, how: string): Promise<void> {
    if (this.#child !== child) return
    this.#child = undefined
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#diagnosis = await diagnose(this.options.logFile, this.#logStart)
    const waitMs = this.#plan.next(this.options.now())
    this.options.log('engine ended', { how, ...this.#diagnosis, restartInMs: waitMs })
    this.#timer = setTimeout(() => void this.#start(), waitMs)
  }

  /** Loading may take as long as it takes, while the log moves. */
  #watchLoading(child: ChildProcess): void {
    const { startLimitMs, silenceLimitMs, logFile, now } = this.options
    const everyMs = Math.max(50, Math.min(5_000, silenceLimitMs / 4))
    let size = -1
    let grewAt = now()
    const look = async () => {
      if (this.#child !== child || this.#isUp) return
      const grown = (await stat(logFile)).size
      if (grown !== size) grewAt = now()
      size = grown
      if (now() - this.#startedAt > startLimitMs) return await this.restart(`not up after ${startLimitMs / 1000} s`)
      if (now() - grewAt > silenceLimitMs)
        return await this.restart(`loading, and silent for ${silenceLimitMs / 1000} s`)
      this.#timer = setTimeout(() => void look(), everyMs)
    }
    this.#timer = setTimeout(() => void look(), everyMs)
  }

  async #end(): Promise<void> {
    const child = this.#child
    if (!child?.pid) return
    const exited = once(child, 'exit')
    signalTree(child.pid, 'SIGTERM')
    const kill = setTimeout(() => child.pid && signalTree(child.pid, 'SIGKILL'), this.options.stopGraceMs)
    await exited
    clearTimeout(kill)
  }
}

function signalTree(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
