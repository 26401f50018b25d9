import type { DatasetManifest } from './dataset.ts'
import type { SourceTokens, TokenizedManifest } from './tokenized.ts'

/** A tokenized version in a few lines of plain text. */
export function describeTokens(uri: string, manifest: Partial<TokenizedManifest> & DatasetManifest): string {
  const { version, rows, bytes, tokens, tokenized } = manifest
  const lines = [`${uri}, version ${version}: ${rows} rows, ${bytes} bytes`]
  if (!tokenized) return `${lines[0]}; adopted, so nobody counted its tokens: --check does\n`
  const { model, counts, sources, made } = tokenized
  const perToken = tokens.tokens === 0 ? 0 : bytes / tokens.tokens
  lines.push(`  ${tokens.tokens} tokens, ${perToken.toFixed(2)} bytes each`)
  lines.push(
    `  tokenizer ${model?.tokenizerHash.slice(0, 12)}, chat template ${model?.templateHash?.slice(0, 12) ?? 'none'}`,
  )
  lines.push(
    `  ${counts.old.rows} old + ${counts.new.rows} new = ${counts.duplicates.rows} duplicates + ${counts.merged.rows} rows`,
    `  ${counts.old.tokens} old + ${counts.new.tokens} new = ${counts.duplicates.tokens} duplicates + ${counts.merged.tokens} tokens`,
  )
  const table = Object.entries(sources)
    .sort(([, a], [, b]) => b.tokens - a.tokens)
    .map(([name, source]) => [
      ...[name, source.rows, source.tokens, source.rows === 0 ? 0 : Math.round(source.tokens / source.rows)],
      `${((100 * source.supervised) / Math.max(1, source.tokens)).toFixed(1)} %`,
    ])
  lines.push('', ...columns([['source', 'rows', 'tokens', 'per row', 'supervised'], ...table]))
  const left = leftOutLines(made)
  if (left.length > 0) lines.push('', `Left out (each is listed in ${tokenized.leftOut}):`, ...left)
  return `${lines.join('\n')}\n`
}

function leftOutLines(made: Readonly<Record<string, SourceTokens>>): string[] {
  const rows = Object.entries(made).flatMap(([name, { leftOut }]) =>
    Object.entries(leftOut).map(([reason, count]) => [name, reason, count]),
  )
  return rows.length === 0 ? [] : columns(rows)
}

/** Cells in columns, numbers on the right. */
function columns(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => String(row[n] ?? '').length)))
  return rows.map((row) => {
    const cells = row.map((cell, n) =>
      n === 0 ? String(cell).padEnd(widths[n] ?? 0) : String(cell).padStart(widths[n] ?? 0),
    )
    return `  ${cells.join('  ')}`.trimEnd()
  })
}
