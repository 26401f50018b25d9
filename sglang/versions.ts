/** A fault of some SGLang releases that a user should know of. */
interface KnownFault {
  /** First release without it, or the span that has it. */
  from: string
  before: string
  warning: string
}

/** From the release notes and sources of SGLang 0.5.10 to 0.5.23. */
const knownFaults: readonly KnownFault[] = [
  {
    from: '0.0.0',
    before: '0.5.10',
    warning: 'older than any release that Longhaul was checked against (0.5.10 to 0.5.23)',
  },
  {
    from: '0.5.10',
    before: '0.5.14',
    warning: 'leaks request state on every 400 and can be killed by many aborts at once; 0.5.20 or newer has neither',
  },
  {
    from: '0.5.14',
    before: '0.5.20',
    warning: 'keeps generating for clients that went away while streaming; 0.5.20 or newer does not',
  },
]

/** Known faults of a release, in words for people; empty for good and for unknown newer ones. */
export function warningsFor(version: string): string[] {
  return knownFaults
    .filter(({ from, before }) => compareVersions(version, from) >= 0 && compareVersions(version, before) < 0)
    .map(({ warning }) => `SGLang ${version} ${warning}.`)
}

/** Compares by the numbers; a suffix such as `.post1` counts as the release itself. */
export function compareVersions(a: string, b: string): number {
  const numbers = (version: string) => (version.match(/\d+/g) ?? []).slice(0, 3).map(Number)
  const [left, right] = [numbers(a), numbers(b)]
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
