import { type Column, holdsJson, typeName } from './columns.ts'
import { type DatasetManifest, type MergedRun, versionName } from './dataset.ts'
import { hfFeaturesYaml, yamlText } from './hf-features.ts'

/** What a card is written from, beyond the manifest. */
export interface CardFacts {
  manifest: DatasetManifest
  /** Name of the dataset, for the title. */
  name: string
  /** All columns of the rows. */
  columns: readonly Column[]
  /** Bytes of all rows as they are in memory, about: what the hub calls the size of a dataset. */
  textBytes: number
}

/** README.md of a version: front matter as the Hugging Face hub wants it, and what people want to know. */
export function datasetCard(facts: CardFacts): string {
  const { manifest, name } = facts
  const sections = [
    `# ${name}, version ${manifest.version}`,
    summary(manifest),
    loading(manifest),
    counts(manifest),
    sources(manifest),
    runs(manifest),
    parameters(manifest),
    columnTable(facts),
  ]
  return `${frontMatter(facts)}\n${sections.filter(Boolean).join('\n\n')}\n`
}

function frontMatter({ manifest, name, columns, textBytes }: CardFacts): string {
  const splits = splitsOf(manifest)
  const files = splits.map(([split]) => `  - split: ${split}\n    path: ${yamlText(filePattern(manifest, split))}\n`)
  const share = (bytes: number, rows: number) => Math.round((bytes * rows) / Math.max(1, manifest.rows))
  const sizes = splits.map(
    ([split, rows]) => `  - name: ${split}\n    num_bytes: ${share(textBytes, rows)}\n    num_examples: ${rows}\n`,
  )
  return [
    '---',
    `pretty_name: ${yamlText(name)}`,
    'task_categories:\n- text-generation',
    `size_categories:\n- ${sizeCategory(manifest.rows)}`,
    'tags:\n- longhaul\n- synthetic',
    `configs:\n- config_name: default\n  data_files:\n${files.join('').trimEnd()}`,
    `dataset_info:\n${features(manifest, columns)}  splits:\n${sizes.join('')}  download_size: ${manifest.bytes}`,
    `  dataset_size: ${textBytes}`,
    '---\n',
  ].join('\n')
}

/** Left to the library where JSON lines hold values of several kinds in one column: no feature would fit them. */
function features({ format }: DatasetManifest, columns: readonly Column[]): string {
  const isMixed = format === 'jsonl' && columns.some(({ type }) => holdsJson(type))
  return isMixed ? '' : `  features:\n${hfFeaturesYaml(columns, 2)}`
}

/** Rows by split, in the order of the files. */
export function splitsOf({ files }: Pick<DatasetManifest, 'files'>): [split: string, rows: number][] {
  const rows = new Map<string, number>()
  for (const file of files) rows.set(file.split, (rows.get(file.split) ?? 0) + file.rows)
  return [...rows]
}

/** Which files of a version are of a split, relative to its folder. */
function filePattern({ files, version }: DatasetManifest, split: string): string {
  const [first] = files.filter((file) => file.split === split)
  const key = first?.key.replace(`${versionName(version)}/`, '') ?? ''
  return key.replace(/\d{5}(-of-\d{5})?/, '*')
}

function sizeCategory(rows: number): string {
  const bounds = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
  const names = ['1K', '10K', '100K', '1M', '10M', '100M', '1B']
  const n = bounds.findIndex((bound) => rows < bound)
  if (n === 0) return 'n<1K'
  return n < 0 ? 'n>1B' : `${names[n - 1]}<n<${names[n]}`
}

function summary(manifest: DatasetManifest): string {
  const { rows, tokens, bytes, files, format, compression, createdAt, parent } = manifest
  const splits = splitsOf(manifest).map(([split, count]) => `${number(count)} in \`${split}\``)
  const lines = [
    `${number(rows)} rows (${splits.join(', ')}) in ${files.length} files, ${number(bytes)} bytes, ${format}${compression === 'none' ? '' : ` with ${compression}`}.`,
    tokens.rows > 0
      ? `${number(tokens.tokens)} tokens in the ${number(tokens.rows)} conversations whose tokens an engine counted.`
      : '',
    `Made ${createdAt}${parent ? ` from version ${parent.version}` : ''}.`,
  ]
  return lines.filter(Boolean).join('\n')
}

function loading({ format, files, version }: DatasetManifest): string {
  const isDict = files.some(({ key }) => key.split('/').length > 2)
  const code =
    format === 'arrow'
      ? [
          'from datasets import load_from_disk',
          '',
          `dataset = load_from_disk("${versionName(version)}")${isDict ? '  # a DatasetDict' : ''}`,
        ]
      : ['from datasets import load_dataset', '', `dataset = load_dataset("${versionName(version)}")`]
  return ['## How to load it', '```python', ...code, '```'].join('\n')
}

function counts({ counts: all }: DatasetManifest): string {
  if (!all) return ''
  const reasons = Object.entries(all.reasons).map(([reason, rows]) => `${number(rows)} ${reason}`)
  return [
    '## Where the rows come from',
    table(
      ['old', 'new', 'duplicates', 'dropped', 'merged'],
      [[all.old, all.new, all.duplicates, all.dropped, all.merged].map(number)],
    ),
    `${number(all.gaveWay.old)} old and ${number(all.gaveWay.new)} new rows gave way to another one with the same conversation.`,
    reasons.length > 0 ? `Dropped: ${reasons.join(', ')}.` : '',
  ]
    .filter(Boolean)
    .join('\n\n')
}

function sources({ counts: all }: DatasetManifest): string {
  if (!all) return ''
  const rows = Object.entries(all.sources).map(([name, source]) => [
    cell(name),
    ...[source.old, source.new, source.duplicates, source.dropped, source.merged].map(number),
  ])
  return `## Sources\n\n${table(['source', 'old', 'new', 'duplicates', 'dropped', 'merged'], rows)}`
}

function runs({ runs: all }: DatasetManifest): string {
  if (all.length === 0) return ''
  const rows = all.map((run) => [
    cell(run.run),
    cell(`${run.model} (${run.weightVersion})`),
    number(run.samples),
    `v${run.version}`,
    cell(samplingText(run)),
    `\`${run.specHash.slice(0, 12)}\``,
  ])
  const head = ['run', 'model (weights)', 'samples', 'since', 'sampling', 'spec']
  const prompts = all.flatMap(({ run, sources: uris = [] }) => uris.map((uri) => `- ${cell(run)}: ${cell(uri)}`))
  return [
    `## Runs\n\n${table(head, rows)}`,
    prompts.length > 0 ? `Prompts were taken from:\n\n${prompts.join('\n')}` : '',
  ]
    .filter(Boolean)
    .join('\n\n')
}

function samplingText({ sampling }: MergedRun): string {
  return Object.entries(sampling ?? {})
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ')
}

function parameters({ options }: DatasetManifest): string {
  if (!options) return ''
  const rows = Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [`\`${name}\``, cell(JSON.stringify(value))])
  return `## How it was merged\n\n${table(['option', 'value'], rows)}`
}

function columnTable({ columns }: CardFacts): string {
  const rows = columns.map(({ name, type }) => [`\`${name}\``, cell(typeName(type))])
  return `## Columns\n\n${table(['column', 'type'], rows)}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Text that cannot break out of a table cell, or become markup. */
function cell(text: string): string {
  return text.replace(/[\r\n]+/g, ' ').replace(/[\\|<>]/g, (char) => `\\${char}`)
}

function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}
