import { type LeftOutReason, leftOut } from '../../domain/left-out.ts'
import type { TokenizeOptions } from '../../domain/tokenize-spec.ts'
import type { SourceTokens } from '../../domain/tokenized.ts'

/**
 * What speaks against publishing what was tokenized: a line per finding, none when all is well. Reasons for which rows
 * were left out are held against all rows, supervised shares against each source.
 */
export function findingsOf(
  sources: Readonly<Record<string, SourceTokens>>,
  { tolerate, supervisedShare }: Pick<TokenizeOptions, 'tolerate' | 'supervisedShare'>,
): string[] {
  const all = Object.entries(sources)
  const read = all.reduce((sum, [, source]) => sum + source.read, 0)
  const findings: string[] = []
  for (const reason of Object.keys(leftOut) as LeftOutReason[]) {
    const rows = all.reduce((sum, [, source]) => sum + (source.leftOut[reason] ?? 0), 0)
    const tolerated = tolerate[reason] ?? leftOut[reason].tolerated
    if (rows <= tolerated * read) continue
    const worst = all
      .map(([name, source]) => ({ name, rows: source.leftOut[reason] ?? 0 }))
      .filter((source) => source.rows > 0)
      .sort((a, b) => b.rows - a.rows)
      .slice(0, 3)
      .map((source) => `${source.name}: ${source.rows}`)
    findings.push(
      `${rows} of ${read} rows are left out as ${reason} (${leftOut[reason].meaning} ${worst.join(', ')}); ${percent(tolerated)} are tolerated`,
    )
  }
  for (const [name, { tokens, supervised }] of all) {
    const share = tokens === 0 ? undefined : supervised / tokens
    if (share === undefined || (share >= supervisedShare.min && share <= supervisedShare.max)) continue
    findings.push(
      `${percent(share)} of the tokens of ${name} are supervised; allowed are ${percent(supervisedShare.min)} to ${percent(supervisedShare.max)}`,
    )
  }
  return findings
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(3))} %`
}
