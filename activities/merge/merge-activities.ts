import { availableParallelism } from 'node:os'
import { ApplicationFailure, activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity'
import { datasetKeys } from '../../domain/dataset.ts'
import type { MergeRequest, MergeResult } from '../../domain/dataset-merge.ts'
import { failureTypes } from '../../domain/dispatch.ts'
import type { OpenStore } from '../../store/store.ts'
import { backUp } from './backup/back-up.ts'
import { removeOldBackups } from './backup/retention.ts'
import { BackupNotVerified, CountsDisagree, DatasetDamaged, NotADataset, RunNotMergeable } from './errors.ts'
import { type MergeProgress, mergeVersion } from './merge-version.ts'
import { backupUriOf, type MergePlan, planMerge } from './plan-merge.ts'
import { defaultMergeSizes, type MergeSizes } from './sizes.ts'
import { type MadeVersion, publishVersion } from './versions/publish-version.ts'
import { readVersion, rootOf } from './versions/read-version.ts'

export interface MergeDeps {
  openStore: OpenStore
  /** Store of runs that are named without one. */
  defaultStore: string
  /** Local folder for what does not fit into memory. */
  scratch: string
  /** CPU cores to use; left out: all. */
  threads?: number
  sizes?: MergeSizes
  /** Told of every step, for logs. */
  onProgress?(progress: MergeStep): void
}

/** How far a stage is; small enough to be a heartbeat's details. */
export type MergeStep =
  | { phase: 'adopting'; file: string; bytes: number }
  | { phase: 'backing up'; files: number; bytes: number }
  | MergeProgress

export type MergeActivities = ReturnType<typeof createMergeActivities>

/** Activities of the back-up and merge stage, served by data workers. */
export function createMergeActivities(deps: MergeDeps) {
  const { openStore, defaultStore, scratch, threads = availableParallelism(), sizes = defaultMergeSizes } = deps
  const beating = <Result>(work: (report: (step: MergeStep) => void) => Promise<Result>) =>
    withHeartbeats(work, (step) => deps.onProgress?.(step))

  return {
    async planMerge(request: MergeRequest): Promise<MergePlan> {
      return await beating((report) =>
        planMerge(request, {
          ...{ openStore, defaultStore, scratch, now: Date.now, signal: cancellationSignal() },
          onProgress: (progress) => report({ phase: 'adopting', ...progress }),
        }),
      )
    },

    /** Copies the current version and verifies the copy. */
    async backUpDataset({ options, base }: MergePlan): Promise<string | undefined> {
      if (!base) return undefined
      return await beating(async (report) => {
        const dataset = openStore(options.uri)
        const version = await readVersion(dataset, base.version, base.manifestHash)
        const backup = openStore(backupUriOf(options))
        await backUp(version, {
          ...{ dataset, backup, signal: cancellationSignal(), now: Date.now },
          root: rootOf(version.manifest, dataset, openStore),
          onProgress: (progress) => report({ phase: 'backing up', ...progress }),
        })
        return backup.uri
      })
    },

    /** Makes the next version; nothing when the run brings nothing new. */
    async mergeVersion(plan: MergePlan): Promise<MadeVersion | undefined> {
      return await beating(async (report) => {
        const signal = cancellationSignal()
        const made = await mergeVersion(plan, {
          openStore,
          scratch,
          sizes,
          threads,
          signal,
          now: Date.now,
          onProgress: report,
        })
        return made && { version: made.manifest.version, manifestHash: made.manifestHash }
      })
    },

    /** Makes a version current; false when another merge was faster. */
    async publishVersion({ plan, made }: { plan: MergePlan; made: MadeVersion }): Promise<boolean> {
      return await beating(() => publishVersion(openStore(plan.options.uri), plan, made, Date.now))
    },

    /** Removes back-ups that are more than are to be kept. */
    async removeOldBackups({ options }: MergePlan): Promise<string[]> {
      const { keep, uri } = options
      if (keep === undefined) return []
      return await beating(() => removeOldBackups(openStore(backupUriOf(options)), openStore(uri).uri, keep))
    },

    /** What is to be said of a version. */
    async describeMerge({
      plan,
      version,
      changed,
    }: {
      plan: MergePlan
      version: number
      changed: boolean
    }): Promise<MergeResult> {
      const store = openStore(plan.options.uri)
      if (version === 0) return { dataset: store.uri, version, manifest: '', rows: 0, changed }
      const { manifest } = await readVersion(store, version)
      const { sources: _, ...counts } = manifest.counts ?? { sources: {} }
      return {
        dataset: store.uri,
        version,
        manifest: `${store.uri}/${datasetKeys.manifest(version)}`,
        rows: manifest.rows,
        changed,
        ...('merged' in counts && { counts }),
        ...(changed && plan.base && { backup: backupUriOf(plan.options) }),
      }
    },
  }
}

/** Beats within the time-out, so that a late one is no death. */
const beatsInTimeout = 4
const usualBeatMs = 5_000

/** Heartbeats from a timer with the step that was last reported, so that a long one on one file is no death. */
async function withHeartbeats<Result>(
  work: (report: (step: MergeStep) => void) => Promise<Result>,
  onProgress: (step: MergeStep) => void,
): Promise<Result> {
  const { heartbeatTimeoutMs } = activityInfo()
  let last: MergeStep | undefined
  const beatMs = heartbeatTimeoutMs ? heartbeatTimeoutMs / beatsInTimeout : usualBeatMs
  const timer = setInterval(() => heartbeat(last), beatMs)
  try {
    return await work((step) => {
      last = step
      onProgress(step)
    })
  } catch (error) {
    throw forWorkflow(error)
  } finally {
    clearInterval(timer)
  }
}

/** What is wrong with the data is not tried again; everything else is. */
function forWorkflow(error: unknown): unknown {
  const typed = (type: string) =>
    ApplicationFailure.create({ message: (error as Error).message, type, nonRetryable: true, cause: error as Error })
  if (error instanceof DatasetDamaged || error instanceof BackupNotVerified) return typed(failureTypes.datasetDamaged)
  if (error instanceof CountsDisagree) return typed(failureTypes.countsDisagree)
  if (error instanceof RunNotMergeable || error instanceof NotADataset) return typed(failureTypes.invalidMerge)
  return error
}
