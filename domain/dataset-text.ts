import { typeName } from './columns.ts'
import { type DatasetManifest, type DatasetPointer, versionName } from './dataset.ts'
import { splitsOf } from './dataset-card.ts'

/** A version in a few lines of plain text. */
export function describeVersion(uri: string, manifest: DatasetManifest, isCurrent: boolean): string {
  const { version, rows, bytes, files, format, compression, tokens, createdAt, parent, root, counts } = manifest
  const splits = splitsOf(manifest).map(([split, count]) => `${split} ${count}`)
  const sources = Object.entries(manifest.sources ?? {}).sort(([, a], [, b]) => b - a)
  const lines = [
    `${uri}: version ${version}${isCurrent ? ' (current)' : ''}, ${rows} rows in ${files.length} files, ${bytes} bytes`,
    `  ${format}${compression === 'none' ? '' : ` with ${compression}`} · splits: ${splits.join(', ')} · made ${createdAt}${parent ? ` from version ${parent.version}` : ''}`,
    ...(root === undefined ? [] : [`  adopted from ${root}`]),
    ...(tokens.rows > 0 ? [`  ${tokens.tokens} tokens counted in ${tokens.rows} rows`] : []),
    ...(counts
      ? [
          `  ${counts.old} old + ${counts.new} new - ${counts.duplicates} duplicates - ${counts.dropped} dropped = ${counts.merged} merged`,
        ]
      : []),
    ...sources.map(([name, count]) => `  ${count} from ${name}`),
    ...manifest.runs.map(
      (run) =>
        `  run ${run.run}: ${run.samples} samples of ${run.model} (${run.weightVersion}), since version ${run.version}`,
    ),
    ...manifest.columns.map(({ name, type }) => `  column ${name}: ${typeName(type)}`),
  ]
  return `${lines.join('\n')}\n`
}

/** How the pointer got to where it is, the newest move first. */
export function describeHistory(
  { version, moves }: DatasetPointer,
  manifests: ReadonlyMap<number, Pick<DatasetManifest, 'rows' | 'runs'>>,
): string {
  const lines = [...moves].reverse().map(({ at, to, why, from }) => {
    const manifest = manifests.get(to)
    const added = manifest?.runs.filter((run) => run.version === to).map(({ run }) => run) ?? []
    const what = why === 'merged' && added.length > 0 ? `merged ${added.join(', ')}` : why
    const origin = from === undefined ? '' : ` (from ${versionName(from)})`
    return `${at}  ${versionName(to)}  ${what}${origin}${manifest ? `, ${manifest.rows} rows` : ', removed since'}`
  })
  return `current: ${versionName(version)}\n${lines.join('\n')}\n`
}
