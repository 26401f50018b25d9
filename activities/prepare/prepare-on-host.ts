import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import type { Plan } from '../../domain/plan.ts'
import type { Spec } from '../../domain/spec.ts'
import type { HubOptions } from '../../formats/places/hub-cache.ts'
import { sourceFiles } from '../../formats/places/source-files.ts'
import type { OpenStore } from '../../store/store.ts'
import { readEvaluation } from './contamination/read-evaluation.ts'
import { type PrepareProgress, ProgressMeter } from './prepare-progress.ts'
import { type PrepareOutput, prepareRun } from './prepare-run.ts'
import { type StartTasks, startThreads } from './prepare-threads.ts'
import { defaultSizes, type PrepareSizes } from './sizes.ts'

/** What prepare uses of the machine that it runs on. */
export interface PrepareDeps {
  readonly openStore: OpenStore
  /** Local folder for what does not fit into memory: about the size of the prompts. */
  readonly scratch: string
  /** CPU cores to use. */
  readonly threads: number
  /** Token, address and cache for sources on the Hugging Face hub. Left out: public datasets, the usual cache. */
  readonly hub?: HubOptions
  /** For sources behind http(s). Left out: one that retries, and resumes what broke off. */
  readonly dispatcher?: Dispatcher
  readonly sizes?: PrepareSizes
  readonly startTasks?: StartTasks
}

export interface PrepareWatch {
  readonly signal: AbortSignal
  onProgress(progress: PrepareProgress): void
}

/** Prepares a run in threads and a scratch folder of its own. What a failed attempt leaves there spares the next the work. */
export async function prepareOnHost(
  spec: Spec,
  specHash: string,
  output: PrepareOutput,
  { signal, onProgress }: PrepareWatch,
  deps: PrepareDeps,
): Promise<Plan> {
  const { scratch, threads, openStore, sizes = defaultSizes, startTasks = startThreads } = deps
  const { hub = {}, dispatcher } = deps
  const folder = join(scratch, `prepare-${spec.run}`)
  const spoolFolder = join(scratch, `prepare-${spec.run}-files`)
  const filesOf = (uri: string) => sourceFiles(uri, { openStore, hub, dispatcher, spoolFolder })
  const contamination = spec.decontaminate && (await readEvaluation(spec.decontaminate, filesOf, sizes))
  const running = startTasks({ folder, spec, sizes, contamination }, threads, signal)
  try {
    const plan = await prepareRun(spec, specHash, {
      folder,
      sizes,
      tasks: running.tasks,
      threads,
      filesOf,
      contaminationKey: contamination?.key,
      output,
      meter: new ProgressMeter(onProgress, () => performance.now()),
      signal,
    })
    for (const done of [folder, spoolFolder]) await rm(done, { recursive: true, force: true })
    return plan
  } finally {
    await running.close()
  }
}
