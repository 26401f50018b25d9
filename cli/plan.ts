import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { usualAssumptions } from '../activities/prepare/preflight/estimate-run.ts'
import { type PreflightReport, preflight } from '../activities/prepare/preflight/preflight.ts'
import { renderedBy, serverCounter, textCounter } from '../activities/prepare/preflight/prompt-counters.ts'
import { reportText } from '../activities/prepare/preflight/report-text.ts'
import { planText } from '../activities/prepare/prepare-in-store.ts'
import type { PrepareProgress } from '../activities/prepare/prepare-progress.ts'
import { parseSpec } from '../domain/spec.ts'
import { EngineHttp } from '../sglang/http.ts'
import { NativeClient } from '../sglang/native-client.ts'
import { createOpenStore } from '../store/open-store.ts'
import { readEnvironment } from '../workers/environment.ts'
import { readSpec } from './start.ts'

export function planCommand() {
  return new Command('plan')
    .description('Read the sources and say what a run would do, without any GPU. Writes plan.json and report.txt.')
    .argument('<spec>', 'JSON file with the spec; relative paths in it are meant from its folder')
    .option('--sample <n>', 'prompts to show as they would be sent', wholeNumber, 3)
    .option('--engine <url>', 'a running server: its tokenizer, template and context length are asked for')
    .option('--context <tokens>', 'context length of the model, where no server can be asked', wholeNumber)
    .option('--count <n>', 'prompts to count the tokens of', wholeNumber, 20_000)
    .option(
      '--output-tokens <n>',
      'tokens of an answer to reckon with',
      wholeNumber,
      usualAssumptions.outputTokensPerAnswer,
    )
    .option('--rate <n>', 'tokens/s of an engine', wholeNumber, usualAssumptions.outputTokensPerSecondPerEngine)
    .option('--threads <n>', 'CPU cores to use', wholeNumber, availableParallelism())
    .option('--out <folder>', 'where plan.json, report.txt and rejects go; left out: <run>-plan')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', '\nExample:\n  longhaul plan spec.json --sample 5 --engine http://127.0.0.1:30000')
    .action(async (file, options) => {
      const spec = parseSpec(await readSpec(file))
      const out = resolve(options.out ?? `${spec.run}-plan`)
      const environment = readEnvironment(process.env)
      const http = options.engine
        ? new EngineHttp({ url: options.engine, connections: 8, apiKey: environment.engineApiKey })
        : undefined
      const abort = new AbortController()
      process.once('SIGINT', () => abort.abort(new Error('stopped')))
      await mkdir(join(out, 'rejects'), { recursive: true })
      try {
        const report = await preflight(
          spec,
          createHash('sha256').update(JSON.stringify(spec)).digest('hex'),
          {
            counter: http ? serverCounter(http, spec) : textCounter(spec),
            contextTokens: options.context ?? (await contextOf(options.engine, environment.engineApiKey)),
            assumptions: {
              ...usualAssumptions,
              outputTokensPerAnswer: Math.min(options.outputTokens, spec.sampling.maxNewTokens),
              outputTokensPerSecondPerEngine: options.rate,
              engines: spec.engines.length,
            },
            samples: options.sample,
            countedPrompts: options.count,
            ...(http && { render: (request) => renderedBy(http, request) }),
            putRejects: (source, lines) => pipeline(lines, createWriteStream(join(out, 'rejects', `${source}.jsonl`))),
          },
          { signal: abort.signal, onProgress: showProgress },
          {
            openStore: createOpenStore({ s3: environment.s3 }),
            scratch: join(environment.scratch, 'plan'),
            threads: options.threads,
            hub: environment.hub,
          },
        )
        if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
        await writeReport(report, out)
        process.stdout.write(
          options.json ? `${JSON.stringify(report)}\n` : `${reportText(report)}\n\nWritten to ${out}\n`,
        )
      } finally {
        await http?.close()
      }
    })
}

async function writeReport(report: PreflightReport, out: string): Promise<void> {
  await writeFile(join(out, 'plan.json'), planText(report.plan))
  await writeFile(join(out, 'report.txt'), `${reportText(report)}\n`)
}

async function contextOf(url: string | undefined, apiKey: string | undefined): Promise<number | undefined> {
  if (url === undefined) return undefined
  const client = new NativeClient({ url, connections: 1, ...(apiKey && { apiKey }) })
  try {
    return (await client.describe()).contextTokens
  } finally {
    await client.close()
  }
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

let shownAt = 0

/** One line on a terminal, written over; nothing elsewhere. */
function showProgress({ phase, done, total, rowsRead, etaSeconds }: PrepareProgress): void {
  if (!process.stderr.isTTY || performance.now() - shownAt < 200) return
  shownAt = performance.now()
  const share = total > 0 ? ` ${Math.min(100, Math.round((100 * done) / total))} %` : ''
  const left = etaSeconds === undefined ? '' : `, ${etaSeconds} s left`
  process.stderr.write(`\r\u001b[K${phase}${share}, ${rowsRead} rows${left}`)
}
