import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { checkRun, type RunCheck } from '../activities/verify/check-run.ts'
import { type FindingKind, findingKinds } from '../activities/verify/findings.ts'
import type { StrayObject } from '../activities/verify/stray-objects.ts'
import { sum } from '../domain/counts.ts'
import { runKeys } from '../domain/run-keys.ts'
import { AnswerIsNo, exitCodes } from './exit.ts'
import { storeOption, withRunStore } from './run-store.ts'

export function verifyCommand() {
  return new Command('verify')
    .description('Read every object of a run again, and prove that each prompt is exactly one sample or one failure.')
    .argument('<run>', 'name of the run')
    .addOption(storeOption())
    .option('--at-a-time <n>', 'shards to read at the same time', wholeNumber, 4)
    .option('--json', 'print what was found as JSON')
    .addHelpText('after', '\nExits with 0 when the run is whole, and with 1 when it is not.')
    .addHelpText('after', '\nExample:\n  longhaul verify my-run --store s3://my-bucket/longhaul')
    .action((run, { store, atATime, json }) =>
      withRunStore(run, store, async (opened) => {
        if (!(await opened.head(runKeys(run).plan)))
          throw new AnswerIsNo(`Run ${run} has no plan yet: there is nothing to verify.`)
        const startedAt = performance.now()
        const found = await checkRun(opened, run, { shardsAtATime: atATime, onShard: showProgress })
        const seconds = (performance.now() - startedAt) / 1000
        if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
        process.stdout.write(json ? `${JSON.stringify(asJson(found, seconds))}\n` : describeCheck(found, seconds))
        if (found.findings.length > 0) process.exitCode = exitCodes.no
      }),
    )
}

/** What `--json` prints. */
function asJson({ run, shards, committed, read, facts, findings, manifest, strays }: RunCheck, seconds: number) {
  const { prompts, samples, failures, truncated, inputTokens, outputTokens, sampleBytes } = facts
  return {
    ...{ run, isWhole: findings.length === 0, shards, committed, prompts, samples, failures, truncated },
    ...{ inputTokens, outputTokens, sampleBytes, read, seconds: Number(seconds.toFixed(2)), manifest, findings },
    strays: strays.map(({ key, kind, bytes }) => ({ key, kind, bytes })),
  }
}

/** A report in plain text, for people. */
export function describeCheck(found: RunCheck, seconds: number): string {
  const { run, shards, committed, read, facts, findings, manifest, strays } = found
  const { prompts, samples, failures, outputTokens } = facts
  const missing = prompts - samples - failures
  const verdict = findings.length === 0 ? 'whole' : `NOT whole, ${counted(findings.length, 'finding')}`
  return [
    `${run}: ${verdict}`,
    `  ${committed} of ${shards} shards committed · ${prompts} prompts = ${samples} samples + ${failures} failures` +
      (missing === 0 ? '' : ` + ${missing} without an outcome`),
    `  ${counted(read.objects, 'object')} read and hashed: ${read.rows} rows, ${megabytes(read.bytes)} in ${seconds.toFixed(1)} s · ` +
      `${outputTokens} output tokens`,
    `  ${manifestSays[manifest]}`,
    ...describeFindings(found),
    ...describeStrays(strays),
    '',
  ].join('\n')
}

const manifestSays: Readonly<Record<RunCheck['manifest'], string>> = {
  agrees: 'manifest.json says the same',
  differs: 'manifest.json says something else',
  absent: 'there is no manifest.json: the run has not ended yet',
}

function describeFindings({ findings }: RunCheck): string[] {
  return (Object.keys(findingKinds) as FindingKind[]).flatMap((kind) => {
    const ofKind = findings.filter((finding) => finding.kind === kind)
    if (ofKind.length === 0) return []
    return [`  ${ofKind.length} × ${findingKinds[kind]}`, ...ofKind.map(({ message }) => `    ${message}`)]
  })
}

const strayKinds: Readonly<Record<StrayObject['kind'], string>> = {
  orphan: 'that no record names and nothing will read; `longhaul gc` removes them',
  uncommitted: 'of shards that are not committed; who goes on with the run takes them over',
  unknown: 'that Longhaul did not write',
}

function describeStrays(strays: readonly StrayObject[]): string[] {
  return (Object.keys(strayKinds) as StrayObject['kind'][]).flatMap((kind) => {
    const ofKind = strays.filter((stray) => stray.kind === kind)
    if (ofKind.length === 0) return []
    const bytes = sum(ofKind, (stray) => stray.bytes)
    return [
      `  apart from that, ${counted(ofKind.length, 'object')} (${megabytes(bytes)}) ${strayKinds[kind]}`,
      ...ofKind.map(({ key }) => `    ${key}`),
    ]
  })
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0)} MB`
}

let shownAt = 0

/** One line on a terminal, written over; nothing elsewhere. */
function showProgress(done: number, shards: number): void {
  if (!process.stderr.isTTY || (performance.now() - shownAt < 200 && done < shards)) return
  shownAt = performance.now()
  process.stderr.write(`\r\u001b[K${done} of ${shards} shards verified`)
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.')
  return value
}
