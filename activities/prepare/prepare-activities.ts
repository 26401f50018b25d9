import { ApplicationFailure, cancellationSignal, heartbeat } from '@temporalio/activity'
import type { PlanSummary } from '../../domain/plan.ts'
import { BadFile } from '../../formats/bad-file.ts'
import { SourceNotReadable } from '../../formats/places/source-file.ts'
import { WriteOnceConflict } from '../../store/errors.ts'
import { AnotherSpec } from '../run-record.ts'
import { AccountsDoNotAddUp } from './accounts.ts'
import { prepareInStore } from './prepare-in-store.ts'
import type { PrepareDeps } from './prepare-on-host.ts'
import type { PrepareProgress } from './prepare-progress.ts'
import { NoPrompts } from './prepare-run.ts'

export interface PrepareInput {
  run: string
  /** URI of the store that the run lives in. */
  store: string
  specHash: string
}

export type PrepareActivities = ReturnType<typeof createPrepareActivities>

/** Trying again changes nothing about these: somebody has to look at the spec or the sources. */
const finalErrors = [BadFile, SourceNotReadable, NoPrompts, AnotherSpec, WriteOnceConflict, AccountsDoNotAddUp]

/** How often the server hears that prepare is alive, whether or not it has got further. */
const beatMs = 2_000

export function createPrepareActivities(deps: PrepareDeps) {
  return {
    /** Reads the sources and makes the plan of a run: prompts in shards, rejects, plan.json. Once made, it is the answer. */
    async prepare({ run, store, specHash }: PrepareInput): Promise<PlanSummary> {
      let latest: PrepareProgress | undefined
      const beat = setInterval(() => heartbeat(latest), beatMs)
      const onProgress = (progress: PrepareProgress) => {
        latest = progress
      }
      try {
        return await prepareInStore({ run, store, specHash, signal: cancellationSignal(), onProgress }, deps)
      } catch (error) {
        const isFinal = finalErrors.some((kind) => error instanceof kind)
        throw isFinal && error instanceof Error ? finalFailure(error) : error
      } finally {
        clearInterval(beat)
      }
    },
  }
}

function finalFailure(error: Error): ApplicationFailure {
  return ApplicationFailure.create({ message: error.message, type: error.name, nonRetryable: true, cause: error })
}
