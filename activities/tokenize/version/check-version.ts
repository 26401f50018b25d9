import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import type { SourceShare, TokenizedManifest } from '../../../domain/tokenized.ts'
import { sha256Hex } from '../../../shuffle/digest.ts'
import { ObjectNotFound } from '../../../store/errors.ts'
import { readJson } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { DatasetDamaged } from '../../merge/errors.ts'
import type { ReadVersion } from '../../merge/versions/read-version.ts'
import type { ModelFiles } from '../model/model-files.ts'
import { hasAdjacentSupervised, supervisedTokens } from '../rows/token-row.ts'
import { packedRows } from '../units/packed-rows.ts'
import { type ReadRowsOptions, readVersionRows } from './read-version-rows.ts'

/** What a look at every row of a version gives. */
export interface VersionCheck {
  rows: number
  tokens: number
  sources: Record<string, SourceShare>
  /** What is wrong: none when all is well. */
  findings: string[]
}

/** Runs the gates on a version that is there: every file is read, every row looked at. */
export async function checkVersion(
  dataset: ObjectStore,
  version: ReadVersion,
  supervisedShare: TokenizeOptions['supervisedShare'],
  options: ReadRowsOptions,
): Promise<VersionCheck> {
  const manifest = version.manifest as Partial<TokenizedManifest> & ReadVersion['manifest']
  const check: VersionCheck = { rows: 0, tokens: 0, sources: {}, findings: [] }
  const { findings } = check
  const idLimit = manifest.tokenized?.model?.idLimit ?? Number.POSITIVE_INFINITY
  let [empty, strange] = [0, 0]
  try {
    for await (const { packed } of readVersionRows(dataset, version, options)) {
      for (const { source, ids, spans } of packedRows(packed)) {
        const share = check.sources[source] ?? { rows: 0, tokens: 0, supervised: 0 }
        check.sources[source] = share
        share.rows++
        share.tokens += ids.length
        share.supervised += supervisedTokens(spans)
        check.rows++
        check.tokens += ids.length
        if (!hasAdjacentSupervised(spans)) empty++
        if (ids.some((id) => id < 0 || id >= idLimit)) strange++
      }
    }
  } catch (error) {
    if (!(error instanceof DatasetDamaged)) throw error
    findings.push(`${error.uri} ${error.problem}`)
  }
  if (empty > 0) findings.push(`${empty} rows have no two adjacent supervised tokens`)
  if (strange > 0) findings.push(`${strange} rows have ids that the tokenizer does not know`)
  if (findings.length === 0 && check.rows !== manifest.rows) {
    findings.push(`the files have ${check.rows} rows, the manifest says ${manifest.rows}`)
  }
  const saidTokens = manifest.tokenized?.counts.merged.tokens
  if (findings.length === 0 && saidTokens !== undefined && check.tokens !== saidTokens) {
    findings.push(`the files have ${check.tokens} tokens, the manifest says ${saidTokens}`)
  }
  findings.push(...shareFindings(check.sources, supervisedShare), ...(await modelFindings(dataset, manifest)))
  return check
}

function shareFindings(
  sources: Readonly<Record<string, SourceShare>>,
  { min, max }: TokenizeOptions['supervisedShare'],
): string[] {
  return Object.entries(sources).flatMap(([name, { tokens, supervised }]) => {
    const share = tokens === 0 ? 0 : supervised / tokens
    if (share >= min && share <= max) return []
    return [
      `${(100 * share).toFixed(2)} % of the tokens of ${name} are supervised; allowed are ${100 * min} to ${100 * max} %`,
    ]
  })
}

/** The files of the model lie with the versions: what is read with them must be what they were made with. */
async function modelFindings(dataset: ObjectStore, { tokenized }: Partial<TokenizedManifest>): Promise<string[]> {
  const model = tokenized?.model
  if (!model) return []
  try {
    const { tokenizer } = await readJson<ModelFiles>(dataset, model.filesKey)
    if (sha256Hex(tokenizer) === model.tokenizerHash) return []
    return [`${dataset.uri}/${model.filesKey} holds another tokenizer than the one that the version was made with`]
  } catch (error) {
    if (error instanceof ObjectNotFound) return [`${dataset.uri}/${model.filesKey} is gone: it has the tokenizer`]
    throw error
  }
}
