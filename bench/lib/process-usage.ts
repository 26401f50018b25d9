import { readFile } from 'node:fs/promises'

export interface ProcessUsage {
  /** User and system time since the process began. */
  cpuSeconds: number
  rssMb: number
}

/** The kernel's clock ticks in a second, as it reports them to programs: 100 on every Linux. */
const ticksPerSecond = 100

/** What a process of this machine has used, threads included. */
export async function usageOf(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ])
  // The name in brackets may hold blanks: count from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const rssKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1])
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond, rssMb: Math.round(rssKb / 1024) }
}
