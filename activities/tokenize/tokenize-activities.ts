import { ApplicationFailure, cancellationSignal, heartbeat } from '@temporalio/activity'
import { datasetKeys } from '../../domain/dataset.ts'
import { failureTypes } from '../../domain/dispatch.ts'
import type { TokenizeRequest, TokenizeResult } from '../../domain/tokenize-request.ts'
import type { TokenizedManifest } from '../../domain/tokenized.ts'
import type { HubOptions } from '../../formats/places/hub-cache.ts'
import { SourceNotReadable } from '../../formats/places/source-file.ts'
import type { OpenStore } from '../../store/store.ts'
import { CountsDisagree, DatasetDamaged, NotADataset, RunNotMergeable } from '../merge/errors.ts'
import { publishVersion } from '../merge/versions/publish-version.ts'
import { readVersion } from '../merge/versions/read-version.ts'
import { GateClosed, TokenizeRefused } from './errors.ts'
import { ModelNotReadable } from './model/model-files.ts'
import { TokenizerNotUsable } from './model/token-model.ts'
import { checkServer } from './plan/check-server.ts'
import { readPlan, type TokenizePlan } from './plan/plan-file.ts'
import { planTokenize } from './plan/plan-tokenize.ts'
import { localModel } from './plan/store-model.ts'
import { TemplateNotReadable } from './template/syntax.ts'
import { TokenMeter } from './token-meter.ts'
import type { ShuffleSizes } from './tokens/shuffle-tokens.ts'
import { defaultTokenizeSizes, type TokenizeSizes } from './units/sizes.ts'
import { startTokenizeThreads } from './units/tokenize-threads.ts'
import { tokenizeUnit } from './units/tokenize-unit.ts'
import { forgetUnits } from './version/forget-units.ts'
import { makeVersion } from './version/make-version.ts'
import { UnitsMissing } from './version/read-units.ts'

export interface TokenizeDeps {
  openStore: OpenStore
  /** Store of runs that are named without one. */
  defaultStore: string
  /** Local folder for what does not fit into memory. */
  scratch: string
  /** CPU cores to use. */
  threads: number
  /** Token, address and cache for models on the Hugging Face hub. */
  hub?: HubOptions
  /** Key that servers ask for. */
  engineApiKey?: string
  sizes?: Partial<TokenizeSizes & ShuffleSizes>
  log: (message: string, facts?: Record<string, unknown>) => void
}

/** A part of a plan's units, for one activity: those from `first` on, `count` at most. */
export interface UnitRange {
  plan: TokenizePlan
  first: number
  count: number
}

/** What became of some units. */
export interface UnitsDone {
  units: number
  rows: number
  tokens: number
  leftOut: number
}

export type TokenizeActivities = ReturnType<typeof createTokenizeActivities>

const mebibyte = 1024 * 1024
const shuffleSizes: ShuffleSizes = { spillBytes: 64 * mebibyte, sliceBytes: 24 * mebibyte, rangeRows: 400_000 }

/** Activities of the tokenize-and-merge stage, served by data workers. */
export function createTokenizeActivities(deps: TokenizeDeps) {
  const { openStore, defaultStore, scratch, threads, hub = {}, engineApiKey, log } = deps
  const sizes = { ...defaultTokenizeSizes, ...shuffleSizes, ...deps.sizes }
  const running = startTokenizeThreads(threads)

  return {
    async planTokenize(request: TokenizeRequest): Promise<TokenizePlan> {
      return await beating((report) =>
        planTokenize(request, {
          ...{ openStore, defaultStore, scratch, hub, now: Date.now, signal: cancellationSignal() },
          checkServer: (files, options) => checkServer(files, options, engineApiKey),
          onProgress: report,
        }),
      )
    },

    /** Tokenizes files, one after the other, each in all threads; what was tokenized before is found and counted. */
    async tokenizeUnits({ plan, first, count }: UnitRange): Promise<UnitsDone> {
      return await beating(async (report) => {
        const store = openStore(plan.uri)
        const file = await readPlan(store, plan)
        const units = file.units.slice(first, first + count)
        const path = await localModel(store, file.model.filesKey, scratch)
        const signal = cancellationSignal()
        const meter = new TokenMeter(units, report, () => performance.now())
        const done: UnitsDone = { units: 0, rows: 0, tokens: 0, leftOut: 0 }
        for (const unit of units) {
          const record = await tokenizeUnit(file, unit, {
            ...{ store, input: openStore(file.inputs.store), folder: scratch, threads, sizes, signal },
            tasks: running.tasks(signal),
            model: { path, ...(file.options.today !== undefined && { today: file.options.today }) },
            onBytes: (bytes) => meter.addBytes(bytes),
            onTokens: (tokens) => meter.addTokens(tokens),
            onPoisoned: (what) => log('a cached unit is made again', { what }),
          })
          meter.finish(unit)
          done.units++
          done.rows += record.rows
          done.leftOut += record.leftOut.rows
          for (const { tokens } of Object.values(record.sources)) done.tokens += tokens
        }
        return done
      })
    },

    /** Makes the next version; nothing when there is no new row. */
    async makeTokenVersion(plan: TokenizePlan): Promise<{ version: number; manifestHash: string } | undefined> {
      return await beating(async (report) => {
        const signal = cancellationSignal()
        const made = await makeVersion(plan, { openStore, scratch, sizes, now: Date.now, signal, onProgress: report })
        return made && { version: made.manifest.version, manifestHash: made.manifestHash }
      })
    },

    /** Makes a version current; false when another one was faster. */
    async publishTokenVersion({
      plan,
      made,
    }: {
      plan: TokenizePlan
      made: { version: number; manifestHash: string }
    }): Promise<boolean> {
      return await beating(() => publishVersion(openStore(plan.uri), plan, made, Date.now))
    },

    /** Removes what was kept for the case that the stage has to go on. */
    async forgetUnits(plan: TokenizePlan): Promise<void> {
      await beating(() => forgetUnits(openStore(plan.uri), plan))
    },

    /** What is to be said of a version. */
    async describeTokens({
      plan,
      version,
      changed,
    }: {
      plan: TokenizePlan
      version: number
      changed: boolean
    }): Promise<TokenizeResult> {
      const store = openStore(plan.uri)
      if (version === 0) {
        return { dataset: store.uri, version, manifest: '', rows: 0, tokens: 0, supervised: 0, changed }
      }
      const manifest = (await readVersion(store, version)).manifest as TokenizedManifest
      return describe(store.uri, manifest, changed)
    },
  }
}

/** Sources that a result names: it goes into a workflow's history. */
const mostSources = 20

function describe(
  uri: string,
  { version, rows, tokens, tokenized }: TokenizedManifest,
  changed: boolean,
): TokenizeResult {
  const sources = Object.entries(tokenized?.sources ?? {}).sort(([, a], [, b]) => b.tokens - a.tokens)
  const made = Object.values(tokenized?.made ?? {})
  return {
    ...{ dataset: uri, version, manifest: `${uri}/${datasetKeys.manifest(version)}`, rows, tokens: tokens.tokens },
    supervised: sources.reduce((sum, [, source]) => sum + source.supervised, 0),
    changed,
    ...(tokenized && {
      counts: tokenized.counts,
      leftOut: made.reduce((sum, { leftOut }) => sum + Object.values(leftOut).reduce((all, rows) => all + rows, 0), 0),
      sources: Object.fromEntries(sources.slice(0, mostSources)),
    }),
  }
}

const beatMs = 2_000

/** Heartbeats from a timer with the progress that was last reported, so that a long step on one file is no death. */
async function beating<Result>(work: (report: (progress: object) => void) => Promise<Result>): Promise<Result> {
  let last: object = {}
  const timer = setInterval(() => heartbeat(last), beatMs)
  try {
    return await work((progress) => {
      last = progress
    })
  } catch (error) {
    throw forWorkflow(error)
  } finally {
    clearInterval(timer)
  }
}

/** What trying again changes nothing about, by the type that the workflow is told. */
const finalErrors: readonly { kinds: readonly (abstract new (...args: never[]) => Error)[]; type: string }[] = [
  {
    kinds: [
      TokenizeRefused,
      RunNotMergeable,
      NotADataset,
      ModelNotReadable,
      TokenizerNotUsable,
      TemplateNotReadable,
      SourceNotReadable,
    ],
    type: failureTypes.invalidTokenize,
  },
  { kinds: [GateClosed], type: failureTypes.gateClosed },
  { kinds: [UnitsMissing], type: failureTypes.unitsMissing },
  { kinds: [DatasetDamaged], type: failureTypes.datasetDamaged },
  { kinds: [CountsDisagree], type: failureTypes.countsDisagree },
]

function forWorkflow(error: unknown): unknown {
  const final = finalErrors.find(({ kinds }) => kinds.some((kind) => error instanceof kind))
  if (!final || !(error instanceof Error)) return error
  return ApplicationFailure.create({ message: error.message, type: final.type, nonRetryable: true, cause: error })
}
