import type { Compression, DatasetFormat, Output } from './dataset.ts'
import type { DatasetOptions } from './spec.ts'

/** What files of a format are compressed with when nobody says. */
const usual: Readonly<Record<DatasetFormat, Compression>> = { jsonl: 'gzip', parquet: 'snappy', arrow: 'none' }

/** Which compressions a format has. */
const possible: Readonly<Record<DatasetFormat, readonly Compression[]>> = {
  jsonl: ['none', 'gzip', 'zstd'],
  parquet: ['none', 'snappy', 'gzip', 'zstd'],
  arrow: ['none'],
}

/** How the next version is written: as the spec says, else as the version before, else as is usual. */
export function outputOf(
  { format: wished, compression }: Pick<DatasetOptions, 'format' | 'compression'>,
  before: Output | undefined,
): Output {
  const format = wished === 'same' ? (before?.format ?? 'jsonl') : wished
  const kept = before?.format === format ? before.compression : usual[format]
  return { format, compression: compression === 'same' ? kept : compression }
}

/** What is wrong with a choice of output; undefined when nothing is. */
export function outputProblem({ format, compression }: Output): string | undefined {
  if (possible[format].includes(compression)) return undefined
  return `${format} files are compressed with ${possible[format].join(' or ')}, not with ${compression}`
}
