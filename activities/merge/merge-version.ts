import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatasetManifest, datasetKeys, datasetLayout, type MergeCounts } from '../../domain/dataset.ts'
import { PreconditionFailed } from '../../store/errors.ts'
import { putJson } from '../../store/put-json.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore, OpenStore } from '../../store/store.ts'
import { putManifest, type ReadVersion, readVersion } from './datasets.ts'
import { CountsDisagree } from './errors.ts'
import { type MergeProgress, shuffleRows } from './merge-rows.ts'
import { PartWriter } from './part-writer.ts'
import { type MergePlan, mergedRunOf, readRunManifest } from './plan-merge.ts'
import type { MergeSizes } from './sizes.ts'

export interface MergeVersionDeps {
  openStore: OpenStore
  scratch: string
  sizes: MergeSizes
  now: () => number
  signal?: AbortSignal
  onProgress(progress: MergeProgress): void
}

/** `claim.json`: which merge has a version's number. */
interface Claim {
  mergeId: string
  /** ISO 8601. */
  claimedAt: string
}

/**
 * Makes the files and the manifest of the next version; nobody reads them before the pointer names them. An attempt that
 * comes after a broken one finds its claim and goes on under the same number. Nothing when the run brings nothing new.
 */
export async function mergeVersion(plan: MergePlan, deps: MergeVersionDeps): Promise<ReadVersion | undefined> {
  const store = deps.openStore(plan.options.uri)
  const earlier = await findClaim(store, plan)
  if (earlier && (await store.head(datasetKeys.manifest(earlier.version))))
    return await readVersion(store, earlier.version)
  const base = plan.base && (await readVersion(store, plan.base.version, plan.base.manifestHash))
  const run = await readRunManifest(deps.openStore(plan.run.store), plan.run.key, plan.run.manifestHash)
  const root = base?.manifest.root ? deps.openStore(base.manifest.root) : store
  const folder = join(deps.scratch, `merge-${plan.mergeId}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  try {
    const { signal, sizes } = deps
    const compression = base?.manifest.compression ?? 'gzip'
    const shuffled = await shuffleRows(
      {
        old: (base?.manifest.files ?? []).map((file) => ({ store: root, key: file.key, compression, expected: file })),
        new: run.manifest.sampleObjects.map((object) => ({
          ...{ store: run.store, key: object.key, expected: object, run: run.manifest.run },
          compression: 'gzip',
        })),
        options: plan.options,
      },
      { folder, sizes, signal, onProgress: deps.onProgress },
    )
    const { counts, bytes } = shuffled
    if (counts.new - counts.dropped === 0) return undefined
    checkInput(counts, base?.manifest.rows ?? 0, run.manifest.samples)
    const { version, claimedAt } = await claimVersion(store, plan, deps.now)
    const writer = new PartWriter({
      ...{ store, version, folder, compression, signal },
      totalBytes: bytes,
      fileBytes: plan.options.fileBytes,
    })
    for await (const rows of shuffled.slices()) await writer.add(rows.bytes, rows.lengths)
    const files = await writer.finish()
    const manifest: DatasetManifest = {
      layout: datasetLayout,
      version,
      ...(base && { parent: { version: base.manifest.version, manifestHash: base.manifestHash } }),
      mergeId: plan.mergeId,
      createdAt: claimedAt,
      format: 'jsonl',
      compression,
      rows: files.reduce((sum, file) => sum + file.rows, 0),
      bytes: files.reduce((sum, file) => sum + file.bytes, 0),
      files,
      counts,
      runs: [...(base?.manifest.runs ?? []), mergedRunOf(run, version)],
    }
    if (manifest.rows !== counts.merged) throw new CountsDisagree(`the files of ${store.uri}`, counts)
    await putManifest(store, manifest)
    return await readVersion(store, version)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What was read is what the records said there was. */
function checkInput(counts: MergeCounts, oldRows: number, samples: number): void {
  if (counts.old !== oldRows) throw new CountsDisagree('the current version', counts)
  if (counts.new !== samples) throw new CountsDisagree('the run', counts)
}

/** The number that an earlier attempt at the same merge took. */
async function findClaim(store: ObjectStore, { mergeId, base }: MergePlan): Promise<{ version: number } | undefined> {
  for (let version = (base?.version ?? 0) + 1; ; version++) {
    const key = datasetKeys.claim(version)
    if (!(await store.head(key))) return undefined
    if ((await readJson<Claim>(store, key)).mergeId === mergeId) return { version }
  }
}

/** Takes the first number after the base's that no other merge has, or the one taken before. Numbers are never used again. */
async function claimVersion(
  store: ObjectStore,
  { mergeId, base }: MergePlan,
  now: () => number,
): Promise<{ version: number; claimedAt: string }> {
  for (let version = (base?.version ?? 0) + 1; ; version++) {
    const key = datasetKeys.claim(version)
    const claim: Claim = { mergeId, claimedAt: new Date(now()).toISOString() }
    try {
      await putJson(store, key, claim, { onlyIf: 'absent' })
      return { version, claimedAt: claim.claimedAt }
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error
    }
    const holder = await readJson<Claim>(store, key)
    if (holder.mergeId === mergeId) return { version, claimedAt: holder.claimedAt }
  }
}
