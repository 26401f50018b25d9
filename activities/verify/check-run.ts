import type { RunManifest } from '../../domain/commit.ts'
import { runKeys } from '../../domain/run-keys.ts'
import { MalformedObject } from '../../store/errors.ts'
import { readJson } from '../../store/read-object.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Finding } from './findings.ts'
import { manifestDifferences } from './manifest.ts'
import { type StrayObject, strayObjects } from './stray-objects.ts'
import { type Verification, type VerifyOptions, verifyRun } from './verify-run.ts'

/** All that can be said of a run in its store. */
export interface RunCheck extends Verification {
  /** Whether `manifest.json` says what is there; a run that has not ended has none. */
  manifest: 'agrees' | 'differs' | 'absent'
  /** Objects that no record names. They are no harm: a run with them may be whole. */
  strays: StrayObject[]
}

/** Verifies a run, holds its manifest against what is there, and looks for objects that no record names. */
export async function checkRun(store: ObjectStore, run: string, options: VerifyOptions = {}): Promise<RunCheck> {
  const verified = await verifyRun(store, run, options)
  const { facts, shards } = verified
  const key = runKeys(run).manifest
  const { manifest, findings } = await readManifest(store, key)
  if (manifest) {
    for (const difference of manifestDifferences(manifest, facts))
      findings.push({ kind: 'manifestWrong', key, message: `manifest.json: ${difference}` })
  }
  const strays: StrayObject[] = []
  const manifestObjects = manifest && [...manifest.sampleObjects, ...manifest.failureObjects]
  const named = { run, shards, commits: verified.commits, ...(manifestObjects && { manifestObjects }) }
  for await (const stray of strayObjects(store, named)) strays.push(stray)
  return {
    ...verified,
    findings: [...verified.findings, ...findings],
    manifest: findings.length > 0 ? 'differs' : manifest ? 'agrees' : 'absent',
    strays,
  }
}

async function readManifest(store: ObjectStore, key: string): Promise<{ manifest?: RunManifest; findings: Finding[] }> {
  if (!(await store.head(key))) return { findings: [] }
  try {
    return { manifest: await readJson<RunManifest>(store, key), findings: [] }
  } catch (error) {
    if (!(error instanceof MalformedObject)) throw error
    return { findings: [{ kind: 'recordUnreadable', key, message: `manifest.json: ${error.problem}` }] }
  }
}
