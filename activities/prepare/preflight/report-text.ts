import { filterReasons } from '../../../domain/filter.ts'
import type { SourceAccount } from '../../../domain/plan.ts'
import { rejectReasons } from '../../../domain/reject.ts'
import type { PreflightReport, PromptSample } from './preflight.ts'

/** The report as people read it. */
export function reportText(report: PreflightReport): string {
  return [...planLines(report), ...lengthLines(report), ...estimateLines(report), ...rejectLines(report)]
    .concat(report.samples.flatMap(sampleLines))
    .join('\n')
}

const number = new Intl.NumberFormat('en-US')
const count = (value: number) => number.format(value)
const counted = (value: number, what: string) => `${count(value)} ${what}${value === 1 ? '' : 's'}`

function planLines({ plan }: PreflightReport): string[] {
  return [
    `Run ${plan.run}: ${counted(plan.prompts, 'prompt')} in ${counted(plan.shardSizes.length, 'shard')}`,
    '',
    ...plan.sources.flatMap(sourceLines),
  ]
}

function sourceLines(source: SourceAccount): string[] {
  const { name, read, duplicates, nearDuplicates, notDrawn, prompts, skippedFiles, files } = source
  const parts: [number, string][] = [
    ...reasonParts(source.rejected, 'rejected', rejectReasons),
    ...reasonParts(source.filtered, 'filtered', filterReasons),
    [duplicates, nearDuplicates > 0 ? `duplicates, ${count(nearDuplicates)} of them near ones` : 'duplicates'],
    [notDrawn, 'not drawn'],
    [prompts, 'prompts'],
  ]
  const notes = Object.entries(source.notes).map(([note, rows]) => `    note: ${count(rows)} × ${note}`)
  const skipped = skippedFiles.map(({ why }) => `    left out: ${why}`)
  const schemas = Object.entries(source.schemas).map(([schema, rows]) => `${schema} (${count(rows)})`)
  return [
    `  ${name}: ${counted(read, 'row')} of ${counted(files.length, 'file')}, read as ${schemas.join(', ') || 'nothing'}`,
    ...parts.filter(([rows]) => rows > 0).map(([rows, what]) => `    ${count(rows).padStart(13)} ${what}`),
    ...notes,
    ...skipped,
    '',
  ]
}

function reasonParts<Reason extends string>(
  counts: Partial<Record<Reason, number>>,
  what: string,
  sentences: Readonly<Record<Reason, string>>,
): [number, string][] {
  return (Object.entries(counts) as [Reason, number][]).map(([reason, rows]) => [
    rows,
    `${what}: ${reason} (${sentences[reason]})`,
  ])
}

const methods = {
  tokenizer: 'counted with the tokenizer of the spec, the template estimated',
  server: 'counted by the server, template included',
  estimate: 'ESTIMATED from bytes: name a `tokenizer` in the spec or an engine for exact figures',
} as const

const barWidth = 40

function lengthLines({ lengths, context, plan }: PreflightReport): string[] {
  const most = Math.max(1, ...lengths.histogram.map(({ prompts }) => prompts))
  const bars = lengths.histogram.map(({ from, prompts }, n) => {
    const to = lengths.histogram[n + 1]?.from
    const range = to === undefined ? `${count(from)} and more` : `${count(from)} to ${count(to - 1)}`
    return `  ${range.padStart(20)} ${'█'.repeat(Math.round((prompts / most) * barWidth)).padEnd(barWidth)} ${count(prompts)}`
  })
  const part =
    lengths.counted < plan.prompts ? `the first ${count(lengths.counted)} prompts, a random part` : 'all prompts'
  return [
    `Prompt tokens, ${methods[lengths.method]}; ${part}:`,
    `  mean ${count(lengths.mean)}, median ${count(lengths.median)}, 95 % up to ${count(lengths.p95)}, longest ${count(lengths.max)}`,
    ...bars,
    '',
    ...(context ? contextLines(context) : ['Context length: not known, so whether all prompts fit is not known.']),
    '',
  ]
}

function contextLines({ contextTokens, tooLong, tight, tooLongExamples }: NonNullable<PreflightReport['context']>) {
  return [
    `Context of ${count(contextTokens)} tokens: ${count(tooLong)} prompts can't fit, ${count(tight)} leave less room than maxNewTokens.`,
    ...tooLongExamples.map(
      ({ promptId, source, file, row, tokens }) => `  ${promptId} ${source} ${file}:${row} ${count(tokens)} tokens`,
    ),
  ]
}

function estimateLines({ estimate }: PreflightReport): string[] {
  const { answers, inputTokens, outputTokens, hours, storeBytes, assumed } = estimate
  return [
    'Estimates',
    `  ${count(answers)} answers, ${count(inputTokens)} tokens in, ${count(outputTokens)} tokens out`,
    `  ${hours} hours, ${(storeBytes / 1e9).toFixed(2)} GB of samples in the store`,
    `  assuming ${count(assumed.outputTokensPerAnswer)} tokens an answer, ${count(assumed.outputTokensPerSecondPerEngine)} tokens/s an engine, ${assumed.engines} engines, ${assumed.bytesPerToken} bytes a token`,
    '',
  ]
}

function rejectLines({ rejects }: PreflightReport): string[] {
  if (rejects.length === 0) return []
  const lines = rejects.map(
    ({ source, reject }) =>
      `  ${source} ${reject.file}:${reject.row} ${reject.message}\n    ${(reject.excerpt ?? '').replace(/\s+/g, ' ')}`,
  )
  return ['Some rejected rows', ...lines, '']
}

function sampleLines({ prompt, request, rendered }: PromptSample): string[] {
  return [
    `Prompt ${prompt.promptId} of ${prompt.source} (${prompt.provenance.file}:${prompt.provenance.row}), first request:`,
    JSON.stringify(request, undefined, 2),
    ...(rendered === undefined ? [] : ['As the model reads it:', rendered]),
    '',
  ]
}
