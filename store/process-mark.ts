import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * Names this process so that others can tell whether it still runs: machine, pid and start time (a pid alone is given to
 * a later process sooner or later). It contains no `/` and is fit for file names.
 */
export function ownProcessMark(): string {
  return `${machine()}.${process.pid}.${startTime(process.pid) ?? 'unknown'}`
}

/** `'unknown'`: it ran on another machine, in another container or before a reboot, and cannot be looked up from here. */
export function livenessOf(mark: string): 'alive' | 'dead' | 'unknown' {
  const [itsMachine, pidText, itsStart] = mark.split('.')
  const pid = Number(pidText)
  if (itsMachine !== machine() || !Number.isSafeInteger(pid) || pid <= 0) return 'unknown'
  if (!isRunning(pid)) return 'dead'
  if (itsStart === 'unknown') return 'unknown'
  return startTime(pid) === itsStart ? 'alive' : 'dead'
}

let ownMachine: string | undefined

/** Processes with the same value see each other's pids: same boot, same pid namespace. */
function machine(): string {
  ownMachine ??= createHash('sha256')
    .update(`${hostname()}\n${attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))}`)
    .update(`\n${attempt(() => readlinkSync('/proc/self/ns/pid'))}`)
    .digest('hex')
    .slice(0, 12)
  return ownMachine
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it runs, as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** In clock ticks since boot; undefined where there is no /proc, or when the process is a zombie and writes no more. */
function startTime(pid: number): string | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The second field is the command in parentheses, which may itself contain spaces and parentheses.
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  return state === undefined || state === 'Z' || state === 'X' ? undefined : fields[18]
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
