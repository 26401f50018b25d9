import type { Finding } from './findings.ts'

/** More findings than this are counted, not listed. */
const longestList = 20

/** The store does not hold what the run's records say; the message has a line per finding. */
export class RunNotWhole extends Error {
  override readonly name = 'RunNotWhole'
  /** A line per finding, and how many more there are. */
  readonly lines: readonly string[]

  constructor(run: string, findings: readonly Finding[]) {
    const lines = findings.slice(0, longestList).map(({ message }) => message)
    if (findings.length > longestList) lines.push(`and ${findings.length - longestList} more`)
    super(`Run ${run} is not whole:\n${lines.map((line) => `  - ${line}`).join('\n')}`)
    this.lines = lines
  }
}
