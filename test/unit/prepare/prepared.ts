import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { prepareInStore } from '../../../activities/prepare/prepare-in-store.ts'
import type { PrepareDeps } from '../../../activities/prepare/prepare-on-host.ts'
import type { PrepareProgress } from '../../../activities/prepare/prepare-progress.ts'
import { defaultSizes, type PrepareSizes } from '../../../activities/prepare/sizes.ts'
import type { Plan, SourceAccount } from '../../../domain/plan.ts'
import type { Prompt } from '../../../domain/prompt.ts'
import type { Reject } from '../../../domain/reject.ts'
import { parseSpec } from '../../../domain/spec.ts'
import { createOpenStore } from '../../../store/open-store.ts'

export interface PreparedOptions {
  sizes?: Partial<PrepareSizes>
  deps?: Partial<PrepareDeps>
  signal?: AbortSignal
  onProgress?: (progress: PrepareProgress) => void
  /** Left out: a folder of its own. */
  root?: string
}

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-prepare-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Prepares a run in a new store and reads back what was written. */
export async function prepared(spec: Record<string, unknown>, options: PreparedOptions = {}) {
  const {
    sizes,
    deps,
    signal = new AbortController().signal,
    onProgress = () => {},
    root = temporaryFolder(),
  } = options
  const runFolder = join(root, 'store/runs/r')
  mkdirSync(runFolder, { recursive: true })
  const parsed = parseSpec({ run: 'r', engines: 2, ...spec })
  writeFileSync(join(runFolder, 'spec.json'), JSON.stringify({ spec: parsed, specHash: 'h', frozenAt: '' }))
  const prepare = () =>
    prepareInStore(
      { run: 'r', store: `file://${join(root, 'store')}`, specHash: 'h', signal, onProgress },
      {
        openStore: createOpenStore(),
        scratch: join(root, 'scratch'),
        threads: 2,
        sizes: { ...defaultSizes, ...smallBuffers, ...sizes },
        ...deps,
      },
    )
  const summary = await prepare()
  const files = () =>
    readdirSync(runFolder, { recursive: true, encoding: 'utf8' })
      .sort()
      .filter((name) => statSync(join(runFolder, name)).isFile())
      .map((name) => [name, readFileSync(join(runFolder, name), 'utf8')] as const)
  const texts = new Map(files())
  const lines = <T>(name: string) =>
    (texts.get(name) ?? '')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T)
  const plan = JSON.parse(texts.get('plan.json') ?? '') as Plan
  const shards = plan.shardSizes.map((_, n) => lines<Prompt>(`prompts/${String(n).padStart(5, '0')}.jsonl`))
  return {
    summary,
    plan,
    shards,
    prompts: shards.flat(),
    rejects: (source: string) => lines<Reject>(`rejects/${source}.jsonl`),
    files,
    again: prepare,
  }
}

/** Tests have small data; the real sizes would only clear much memory. */
const smallBuffers = { blockBytes: 256 * 1024, spillBytes: 256 * 1024 }

/** Rows of an account by what became of them; the parts add up to `read`. */
export function accounted({ rejected, filtered, duplicates, notDrawn, prompts }: SourceAccount): number {
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0)
  return sum(rejected) + sum(filtered) + duplicates + notDrawn + prompts
}
