import { ApplicationFailure, cancellationSignal, heartbeat } from '@temporalio/activity'
import type { RunManifest } from '../../domain/commit.ts'
import { failureTypes, type RunRef } from '../../domain/dispatch.ts'
import type { RetryRequest } from '../../domain/retry.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { putJson } from '../../store/put-json.ts'
import type { OpenStore } from '../../store/store.ts'
import { NothingToRetry, planRetry } from '../retry/plan-retry.ts'
import { type KeptShard, keepSamples } from '../upload/keep-samples.ts'
import { type SealedShard, sealShard } from '../upload/seal-shard.ts'
import { RunNotWhole } from '../verify/run-not-whole.ts'
import { verifyRun } from '../verify/verify-run.ts'

export interface DataDeps {
  openStore: OpenStore
  scratch: string
}

/** What the manifest says, in short. */
export interface VerifiedRun {
  /** Key of the manifest. */
  manifest: string
  prompts: number
  samples: number
  failures: number
  inputTokens: number
  outputTokens: number
}

export interface PlannedRetry {
  ref: RunRef
  request: RetryRequest
  /** The same for every try of the same retry. */
  token: string
}

/** Several times within the heartbeat timeout of data activities. */
const beatMs = 15_000

export type DataActivities = ReturnType<typeof createDataActivities>

/** Activities that read or write much of a run, served by data workers. */
export function createDataActivities({ openStore, scratch }: DataDeps) {
  return {
    /** Proves that the run is whole and writes its manifest. */
    async verifyRun({ run, store: storeUri }: RunRef): Promise<VerifiedRun> {
      const store = openStore(storeUri)
      const { manifest: key } = runKeys(run)
      let shard = 0
      const beat = setInterval(() => heartbeat({ phase: 'verify', shard }), beatMs)
      try {
        const onShard = (done: number) => {
          shard = done
        }
        const { findings, facts } = await verifyRun(store, run, { onShard, signal: cancellationSignal() })
        if (findings.length > 0) throw new RunNotWhole(run, findings)
        const manifest: RunManifest = { ...facts, completedAt: new Date().toISOString() }
        await putJson(store, key, manifest)
        const { prompts, samples, failures, inputTokens, outputTokens } = manifest
        return { manifest: key, prompts, samples, failures, inputTokens, outputTokens }
      } catch (error) {
        if (!(error instanceof RunNotWhole)) throw error
        throw ApplicationFailure.nonRetryable(error.message, failureTypes.runNotWhole, error.lines)
      } finally {
        clearInterval(beat)
      }
    },

    /** Makes chosen failures into further shards of the run. */
    async planRetry({ ref, request, token }: PlannedRetry): Promise<{ round: number; prompts: number }> {
      try {
        const { round, prompts } = await planRetry(openStore(ref.store), request, token)
        return { round, prompts }
      } catch (error) {
        if (!(error instanceof NothingToRetry)) throw error
        throw ApplicationFailure.nonRetryable(error.message, failureTypes.nothingToRetry)
      }
    },

    /** Brings the samples of a half-done shard into the store, from its checkpoints there. */
    async keepSamples({ ref, shard }: KeptShard): Promise<void> {
      await keepSamples({ ref, shard }, { store: openStore(ref.store), scratch })
    },

    /** Ends every prompt of a shard that has no outcome as a failure, and commits the shard. */
    async sealShard(shard: SealedShard): Promise<void> {
      await sealShard(shard, { store: openStore(shard.ref.store), scratch, now: Date.now })
    },
  }
}
