import { type Column, typeName } from './columns.ts'
import type { DatasetManifest } from './dataset.ts'

/** How two versions differ, as their manifests tell. */
export interface DatasetDiff {
  from: number
  to: number
  rows: number
  bytes: number
  tokens: number
  /** Rows by source: before, after. Sources with as many rows as before are left out. */
  sources: Record<string, [before: number, after: number]>
  /** Runs whose samples only one of them has. */
  runs: { added: string[]; removed: string[] }
  columns: { added: string[]; removed: string[]; changed: string[] }
}

export function diffVersions(before: DatasetManifest, after: DatasetManifest): DatasetDiff {
  return {
    from: before.version,
    to: after.version,
    rows: after.rows - before.rows,
    bytes: after.bytes - before.bytes,
    tokens: after.tokens.tokens - before.tokens.tokens,
    sources: changedSources(sourcesOf(before), sourcesOf(after)),
    runs: {
      added: runsNotIn(after, before),
      removed: runsNotIn(before, after),
    },
    columns: diffColumns(before.columns, after.columns),
  }
}

/** Where a version was not counted by source, the next one knows: what it was made of. */
function sourcesOf({ sources, rows }: DatasetManifest): Record<string, number> {
  return sources ?? { '(not counted)': rows }
}

function changedSources(
  before: Record<string, number>,
  after: Record<string, number>,
): Record<string, [number, number]> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  const pairs = names.map((name) => [name, [before[name] ?? 0, after[name] ?? 0]] as [string, [number, number]])
  return Object.fromEntries(pairs.filter(([, [old, now]]) => old !== now))
}

function runsNotIn(these: DatasetManifest, those: DatasetManifest): string[] {
  const known = new Set(those.runs.map(({ manifestHash }) => manifestHash))
  return these.runs.filter(({ manifestHash }) => !known.has(manifestHash)).map(({ run }) => run)
}

function diffColumns(before: readonly Column[], after: readonly Column[]): DatasetDiff['columns'] {
  const typesBefore = new Map(before.map(({ name, type }) => [name, typeName(type)]))
  const typesAfter = new Map(after.map(({ name, type }) => [name, typeName(type)]))
  return {
    added: [...typesAfter].filter(([name]) => !typesBefore.has(name)).map(([name, type]) => `${name}: ${type}`),
    removed: [...typesBefore].filter(([name]) => !typesAfter.has(name)).map(([name, type]) => `${name}: ${type}`),
    changed: [...typesAfter].flatMap(([name, type]) => {
      const old = typesBefore.get(name)
      return old === undefined || old === type ? [] : [`${name}: ${old} → ${type}`]
    }),
  }
}

/** A difference in a few lines of plain text. */
export function describeDiff(diff: DatasetDiff): string {
  const { rows, bytes, tokens, sources, runs, columns } = diff
  const lines = [
    `version ${diff.from} → ${diff.to}: ${signed(rows)} rows, ${signed(bytes)} bytes, ${signed(tokens)} counted tokens`,
    ...Object.entries(sources).map(([name, [old, now]]) => `  ${name}: ${old} → ${now} (${signed(now - old)})`),
    ...runs.added.map((run) => `  + run ${run}`),
    ...runs.removed.map((run) => `  - run ${run}`),
    ...columns.added.map((column) => `  + column ${column}`),
    ...columns.removed.map((column) => `  - column ${column}`),
    ...columns.changed.map((column) => `  ~ column ${column}`),
  ]
  return `${lines.join('\n')}\n`
}

function signed(value: number): string {
  return value > 0 ? `+${value}` : String(value)
}
