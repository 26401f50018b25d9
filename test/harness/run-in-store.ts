import { createHash, randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Journal } from '../../activities/generate/journal.ts'
import { rowOf } from '../../activities/generate/shard-runner.ts'
import { shardFolder } from '../../activities/generate/shard-state.ts'
import { startRun } from '../../activities/run/start-run.ts'
import { uploadShard } from '../../activities/upload/upload-shard.ts'
import { verifyRun } from '../../activities/verify/verify-run.ts'
import type { ShardCommit } from '../../domain/commit.ts'
import type { RunRef } from '../../domain/dispatch.ts'
import type { Plan } from '../../domain/plan.ts'
import type { Prompt } from '../../domain/prompt.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import type { Failure, Sample } from '../../domain/sample.ts'
import { parseSpec } from '../../domain/spec.ts'
import { putJson } from '../../store/put-json.ts'
import type { ObjectStore } from '../../store/store.ts'

export const identity = { model: 'test-model', weightVersion: 'default' }

export interface RunInStoreOptions {
  store: ObjectStore
  scratch: string
  run?: string
  shardSizes: number[]
  spec?: Record<string, unknown>
}

/** A run as its workers would leave it in a store, made by their own functions, but without engines and workflows. */
export class RunInStore {
  private constructor(
    readonly ref: RunRef,
    private readonly options: RunInStoreOptions,
    readonly plan: Plan,
  ) {}

  /** Freezes a spec, and writes plan and prompts. */
  static async planned(options: RunInStoreOptions): Promise<RunInStore> {
    const { store, run = 'r', shardSizes } = options
    const spec = parseSpec({ run, sources: ['/data/a.jsonl'], engines: 1, ...options.spec })
    const ref = await startRun(spec, { openStore: () => store, defaultStore: store.uri, now: Date.now })
    const prompts = shardSizes.reduce((total, size) => total + size, 0)
    const ids = Array.from({ length: prompts }, (_, n) => `${promptOf(n).promptId}\n`).join('')
    const plan: Plan = {
      ...{ run, specHash: ref.specHash, seed: 'longhaul', prompts, shardSizes, sources: [] },
      idsHash: createHash('sha256').update(ids).digest('hex'),
    }
    const planned = new RunInStore(ref, options, plan)
    for (const [shard] of shardSizes.entries()) {
      const rows = planned.promptsOf(shard).map((prompt) => `${JSON.stringify(prompt)}\n`)
      await store.put(runKeys(run).prompts(shard), rows.join(''), { onlyIf: 'absent' })
    }
    await putJson(store, runKeys(run).plan, plan)
    return planned
  }

  /** A run with all shards committed and its manifest written. */
  static async finished(options: RunInStoreOptions): Promise<RunInStore> {
    const run = await RunInStore.planned(options)
    for (const [shard] of options.shardSizes.entries()) await run.commit(shard)
    await run.writeManifest()
    return run
  }

  get keys() {
    return runKeys(this.ref.run)
  }

  promptsOf(shard: number): Prompt[] {
    const first = this.plan.shardSizes.slice(0, shard).reduce((total, size) => total + size, 0)
    return Array.from({ length: this.plan.shardSizes[shard] ?? 0 }, (_, n) => promptOf(first + n))
  }

  /** Journals the outcomes of a shard's prompts, as one dispatch of it. Every fifth prompt fails. */
  async generate(shard: number, prompts = this.promptsOf(shard)): Promise<void> {
    const folder = shardFolder(this.options.scratch, this.ref.run, shardName(shard))
    await mkdir(folder, { recursive: true })
    const journal = await Journal.create(join(folder, `e1-${randomUUID().slice(0, 8)}.journal`))
    for (const prompt of prompts) {
      const isSample = prompt.provenance.row % 5 !== 0
      journal.append(
        rowOf(
          isSample ? { kind: 'sample', sample: sampleOf(prompt) } : { kind: 'failure', failure: failureOf(prompt) },
        ),
      )
    }
    await journal.close()
  }

  async upload(shard: number): Promise<ShardCommit> {
    const { store, scratch } = this.options
    return await uploadShard({ ref: this.ref, shard, epoch: 1, identity }, { store, scratch, now: Date.now })
  }

  async commit(shard: number): Promise<ShardCommit> {
    await this.generate(shard)
    return await this.upload(shard)
  }

  async writeManifest(): Promise<void> {
    const { facts } = await verifyRun(this.options.store, this.ref.run)
    await putJson(this.options.store, this.keys.manifest, { ...facts, completedAt: new Date().toISOString() })
  }
}

export function promptOf(n: number): Prompt {
  return {
    promptId: createHash('sha256').update(`prompt ${n}`).digest('hex').slice(0, 32),
    source: n % 2 === 0 ? 'even' : 'odd',
    messages: [{ role: 'user', content: `Question ${n}?` }],
    provenance: { file: '/data/a.jsonl', row: n + 1 },
  }
}

export function sampleOf({ promptId, source, messages, provenance }: Prompt): Sample {
  const tokens = provenance.row
  const usage = { promptTokens: 3, completionTokens: tokens, cachedTokens: 0, reasoningTokens: 0 }
  const text = `Answer to ${messages[0]?.content} with "quotes", naïve 😀 and\nnew lines.`
  return {
    ...{ promptId, source, messages: [...messages, { role: 'assistant', content: text }] },
    ...{ finishReason: 'stop', truncated: tokens % 7 === 0, usage, ...identity, engine: 'gpu-0' },
    sampling: { maxNewTokens: 100 },
    turns: [
      {
        ...{
          promptIds: [1, 2, 3],
          outputIds: Array.from({ length: tokens }, (_, n) => n),
          text,
          finishReason: 'stop',
          usage,
        },
        ...{ rid: promptId, attempts: 1, startedAt: '2026-01-01T00:00:00.000Z', durationMs: 5 },
      },
    ],
    provenance,
  }
}

export function failureOf({ promptId, source, messages, provenance }: Prompt): Failure {
  return {
    ...{ promptId, source, reason: 'timeout', message: 'It took too long.', attempts: [], messages, provenance },
    failedAt: '2026-01-01T00:00:00.000Z',
  }
}
