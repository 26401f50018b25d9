import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { type ReadVersion, readCurrent, readVersion } from '../activities/merge/versions/read-version.ts'
import type { ModelFiles } from '../activities/tokenize/model/model-files.ts'
import { TokenModel } from '../activities/tokenize/model/token-model.ts'
import { checkVersion } from '../activities/tokenize/version/check-version.ts'
import { type ReadRowsOptions, type SampledRow, sampleRows } from '../activities/tokenize/version/read-version-rows.ts'
import type { DatasetManifest } from '../domain/dataset.ts'
import type { TokenizedManifest } from '../domain/tokenized.ts'
import { describeTokens } from '../domain/tokens-text.ts'
import { createOpenStore } from '../store/open-store.ts'
import { readJson } from '../store/read-object.ts'
import type { ObjectStore } from '../store/store.ts'
import { readEnvironment } from '../workers/environment.ts'
import { AnswerIsNo } from './exit.ts'

export function tokensCommand() {
  return new Command('tokens')
    .description('Look at a tokenized dataset: what is in it, rows as the model learns them, and whether all is well.')
    .argument('<version>', 'URI or folder of a tokenized dataset, or of one of its versions', asUri)
    .option('--sample <n>', 'print so many rows of each source, what is supervised in colour', asCount)
    .option('--source <name>', 'only rows of this source')
    .option('--check', 'read every row and run the gates on it')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  longhaul tokens /data/tokens/v0007 --sample 3')
    .action(async (uri, { sample, source, check, json }) => {
      const openStore = createOpenStore({ s3: readEnvironment(process.env).s3 })
      try {
        const { dataset, version } = await find(uri, openStore)
        const manifest = version.manifest as Partial<TokenizedManifest> & DatasetManifest
        const scratch = join(tmpdir(), `longhaul-tokens-${process.pid}`)
        const reading: ReadRowsOptions = { openStore, scratch, signal: new AbortController().signal }
        if (check) return await printCheck(dataset, version, reading, json === true)
        if (sample === undefined) return print(json ? manifest : describeTokens(dataset.uri, manifest))
        const rows = await sampleRows(
          dataset,
          version,
          sample,
          (name) => source === undefined || name === source,
          reading,
        )
        await printRows(rows, await modelOf(dataset, manifest), json === true)
      } finally {
        await openStore.close()
      }
    })
}

/** The version that was named, or the current one. */
async function find(
  uri: string,
  openStore: (uri: string) => ObjectStore,
): Promise<{ dataset: ObjectStore; version: ReadVersion }> {
  const [, root = uri, number] = /^(.*)\/(?:v(\d{4,})|current)$/.exec(uri) ?? []
  const dataset = openStore(root)
  const version = number === undefined ? await readCurrent(dataset) : await readVersion(dataset, Number(number))
  if (!version) throw new AnswerIsNo(`${uri} is no dataset with versions.`)
  return { dataset, version }
}

async function printCheck(dataset: ObjectStore, version: ReadVersion, reading: ReadRowsOptions, isJson: boolean) {
  const { tokenized } = version.manifest as Partial<TokenizedManifest>
  const share = tokenized?.options?.supervisedShare ?? { min: 0.001, max: 0.999 }
  const result = await checkVersion(dataset, version, share, reading)
  if (isJson) print(result)
  const name = `${dataset.uri}, version ${version.manifest.version}`
  if (result.findings.length > 0) {
    throw new AnswerIsNo(`${name} is not fit for training:\n${result.findings.map((one) => `  - ${one}`).join('\n')}`)
  }
  if (!isJson) print(`${name}: all is well with ${result.rows} rows, ${result.tokens} tokens.\n`)
}

async function modelOf(dataset: ObjectStore, { tokenized }: Partial<TokenizedManifest>): Promise<TokenModel> {
  const key = tokenized?.model?.filesKey
  if (key === undefined) {
    throw new AnswerIsNo(`Nobody wrote down which tokenizer ${dataset.uri} was made with, so its rows can't be shown.`)
  }
  return await TokenModel.read((await readJson<ModelFiles>(dataset, key)).tokenizer)
}

interface Stretch {
  text: string
  isSupervised: boolean
}

async function printRows(rows: readonly SampledRow[], model: TokenModel, isJson: boolean): Promise<void> {
  for (const row of rows) {
    const stretches = await stretchesOf(row, model)
    if (isJson) print({ ...row, stretches })
    else print(describeRow(row, stretches, process.stdout.isTTY === true))
  }
}

async function stretchesOf({ ids, spans }: SampledRow, model: TokenModel): Promise<Stretch[]> {
  const stretches: Stretch[] = []
  const edges = [0, ...spans, ids.length]
  for (const [n, start] of edges.slice(0, -1).entries()) {
    const text = await model.decode(ids.slice(start, edges[n + 1]), true)
    if (text !== '') stretches.push({ text, isSupervised: n % 2 === 1 })
  }
  return stretches
}

/** Longer stretches are shown without their middle. */
const longestShown = 1_200

function describeRow(
  { promptId, source, ids, spans }: SampledRow,
  stretches: readonly Stretch[],
  isColored: boolean,
): string {
  const supervised = spans.reduce((sum, at, n) => sum + (n % 2 === 1 ? at : -at), 0)
  const head = `${source} · ${promptId || 'no promptId'} · ${ids.length} tokens, ${supervised} supervised`
  const body = stretches.map(({ text, isSupervised }) => {
    const short = shortened(text)
    if (isColored) return isSupervised ? `\u001b[32m${short}\u001b[0m` : `\u001b[2m${short}\u001b[0m`
    return isSupervised ? `⟦${short}⟧` : short
  })
  return `${head}\n${body.join('')}\n\n`
}

function shortened(text: string): string {
  if (text.length <= longestShown) return text
  const half = longestShown / 2
  return `${text.slice(0, half)} … (${text.length - longestShown} characters) … ${text.slice(-half)}`
}

function print(value: unknown): void {
  process.stdout.write(typeof value === 'string' ? value : `${JSON.stringify(value)}\n`)
}

function asUri(text: string): string {
  const uri = /^[a-z0-9]+:\/\//i.test(text) ? text : pathToFileURL(resolve(text)).href
  return uri.replace(/\/+$/, '')
}

function asCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It must be a whole number above 0.')
  return count
}
