import { sum } from '../../domain/counts.ts'
import { type EngineLive, liveShards } from '../../domain/live.ts'
import type { Plan } from '../../domain/plan.ts'
import { type Progress, type ProgressCounts, progressOf, type RunStatus } from '../../domain/progress.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { PreconditionFailed } from '../../store/errors.ts'
import { putJson } from '../../store/put-json.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import { readRetryRounds } from '../retry/failures.ts'
import { Commits } from '../run/commits.ts'
import type { RunRecord } from '../run-record.ts'

/** Puts `progress.json` together from what is in the store: nothing is counted in memory that a restart would lose. */
export class ProgressReporter {
  readonly #commits: Commits
  #plan: { prompts: number; madeAt: number } | undefined
  #startedAt: number | undefined
  /** Of what this reporter wrote last. */
  #etag: string | undefined

  constructor(
    private readonly store: ObjectStore,
    private readonly run: string,
    private readonly now: () => number,
  ) {
    this.#commits = new Commits(store, run)
  }

  /**
   * Reads the store, writes `progress.json` and returns it. Undefined when another reporter has written it since this one
   * did: it has taken over, and the last word is its.
   */
  async report(status: RunStatus): Promise<Progress | undefined> {
    const progress = await this.read(status)
    const { progress: key } = runKeys(this.run)
    const onlyIf = this.#etag === undefined ? {} : { onlyIf: { etag: this.#etag } }
    try {
      this.#etag = (await putJson(this.store, key, progress, onlyIf)).etag
      return progress
    } catch (error) {
      if (error instanceof PreconditionFailed) return undefined
      throw error
    }
  }

  async read(status: RunStatus): Promise<Progress> {
    this.#startedAt ??= Date.parse((await readJson<RunRecord>(this.store, runKeys(this.run).spec)).frozenAt)
    const plan = await this.#readPlan()
    const commits = await this.#commits.read()
    const committed = new Set(commits.map((commit) => commit.shard))
    const live = liveShards(await this.#readLive(), (shard) => committed.has(shard))
    const ended = [...commits, ...live]
    const retried = sum(await readRetryRounds(this.store, this.run), (round) => round.prompts)
    const counts: ProgressCounts = {
      total: plan?.prompts ?? 0,
      samples: sum(ended, (part) => part.samples),
      // A failure that is asked again counts no more: what comes out of that does.
      failures: sum(ended, (part) => part.failures) - retried,
      inputTokens: sum(ended, (part) => part.inputTokens),
      outputTokens: sum(ended, (part) => part.outputTokens),
      uploadedObjects: sum(commits, (commit) => commit.sampleObjects.length),
      uploadedBytes: sum(
        commits.flatMap((commit) => commit.sampleObjects),
        (object) => object.bytes,
      ),
    }
    const isGenerated = plan !== undefined && counts.samples + counts.failures >= plan.prompts && live.length === 0
    const lastCommit = Math.max(...commits.map((commit) => Date.parse(commit.committedAt)))
    return progressOf(
      counts,
      {
        now: this.now(),
        startedAt: this.#startedAt,
        generatingSince: plan?.madeAt,
        generatedAt: isGenerated && commits.length > 0 ? lastCommit : undefined,
      },
      status,
    )
  }

  async #readPlan(): Promise<{ prompts: number; madeAt: number } | undefined> {
    if (this.#plan) return this.#plan
    const { plan } = runKeys(this.run)
    const info = await this.store.head(plan)
    if (!info) return undefined
    const { prompts } = await readJson<Plan>(this.store, plan)
    this.#plan = { prompts, madeAt: info.modifiedAt.getTime() }
    return this.#plan
  }

  async #readLive(): Promise<EngineLive[]> {
    const reports: EngineLive[] = []
    for await (const { key } of this.store.list(runKeys(this.run).liveFolder)) {
      reports.push(await readJson<EngineLive>(this.store, key))
    }
    return reports
  }
}
