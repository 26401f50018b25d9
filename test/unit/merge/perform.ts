import { MockActivityEnvironment } from '@temporalio/testing'
import { createMergeActivities, type MergeDeps } from '../../../activities/merge/merge-activities.ts'
import { parseMergeRequest } from '../../../domain/dataset-merge.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import type { Scene } from './arrange.ts'

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/** Runs work as an activity is run: with heartbeats and a signal. */
export function inActivity<T>(work: () => Promise<T>): Promise<T> {
  return new MockActivityEnvironment({}, { logger: silent }).run(work)
}

export function mergeActivities(scene: Scene, deps: Partial<MergeDeps> = {}) {
  const { runs, scratch } = scene
  return createMergeActivities({ openStore: createOpenStore(), defaultStore: runs, scratch, ...deps })
}

/** Runs the steps of a merge one after the other, as the workflow does when nobody interferes. */
export async function merge(
  scene: Scene,
  run: string,
  options: Record<string, unknown> = {},
  deps: Partial<MergeDeps> = {},
) {
  const activities = mergeActivities(scene, deps)
  const request = parseMergeRequest({ dataset: { uri: scene.dataset, ...options }, run })
  const plan = await inActivity(() => activities.planMerge(request))
  if (plan.mergedInto !== undefined) return { plan, made: undefined, isPublished: false }
  await inActivity(() => activities.backUpDataset(plan))
  const made = await inActivity(() => activities.mergeVersion(plan))
  const isPublished = made !== undefined && (await inActivity(() => activities.publishVersion({ plan, made })))
  if (isPublished) await inActivity(() => activities.removeOldBackups(plan))
  return { plan, made, isPublished }
}
