import { setTimeout as sleep } from 'node:timers/promises'
import type { RunManifest } from '../domain/commit.ts'
import type { Plan } from '../domain/plan.ts'
import type { Progress } from '../domain/progress.ts'
import { runKeys } from '../domain/run-keys.ts'
import { readJson } from '../store/read-object.ts'
import type { ObjectStore } from '../store/store.ts'
import type { DemoSpec } from './demo.ts'

const everyMs = 500

/** Shows progress until the run has ended: a line that is written over on a terminal, else one now and then. */
export async function followRun(
  store: ObjectStore,
  run: string,
  result: Promise<unknown>,
  onShare: (share: number) => void,
): Promise<void> {
  let hasEnded = false
  const ended = result.finally(() => {
    hasEnded = true
  })
  let shownAt = 0
  while (!hasEnded) {
    const progress = await readProgress(store, run)
    if (progress) {
      onShare(progress.total > 0 ? (progress.completed + progress.failed) / progress.total : 0)
      const isTerminal = process.stdout.isTTY
      if (isTerminal || Date.now() - shownAt >= 3_000) {
        shownAt = Date.now()
        process.stdout.write(isTerminal ? `\r\u001b[K${progressLine(progress)}` : `${progressLine(progress)}\n`)
      }
    }
    await Promise.race([sleep(everyMs), ended.catch(() => {})])
  }
  if (process.stdout.isTTY) process.stdout.write('\n')
  await ended
}

async function readProgress(store: ObjectStore, run: string): Promise<Progress | undefined> {
  const { progress } = runKeys(run)
  return (await store.head(progress)) && (await readJson<Progress>(store, progress))
}

const barWidth = 30

function progressLine({
  total,
  completed,
  failed,
  rate_per_sec,
  total_output_tokens,
  s3_uploaded,
  status,
}: Progress): string {
  const share = total > 0 ? (completed + failed) / total : 0
  const bar = '█'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '░')
  return `${bar} ${(100 * share).toFixed(0).padStart(3)} %  ${completed + failed}/${total} prompts  ${rate_per_sec}/s  ${total_output_tokens} tokens  ${s3_uploaded} uploads  ${status}`
}

export interface DemoPlace {
  home: string
  dataset: string
  spec: DemoSpec
  /** Address of Temporal. */
  address: string
  ui: string | undefined
}

/** What came out of the run, where it lies, and how to start the same run by hand. */
export async function describeOutcome(store: ObjectStore, run: string, place: DemoPlace): Promise<string> {
  const keys = runKeys(run)
  const plan = await readJson<Plan>(store, keys.plan)
  const manifest = await readJson<RunManifest>(store, keys.manifest)
  const progress = await readJson<Progress>(store, keys.progress)
  const rejected = plan.sources.map(({ name, read, rejected, duplicates, prompts }) => {
    const bad = Object.values(rejected).reduce((total, count) => total + count, 0)
    return `  ${name.padEnd(14)} ${read} rows = ${prompts} prompts + ${bad} rejected + ${duplicates} duplicates`
  })
  const adds = manifest.samples + manifest.failures === manifest.prompts ? '=' : '≠'
  const again = JSON.stringify({ ...place.spec, run: `${run}-again` })
  return [
    '',
    'Sources',
    ...rejected,
    '',
    `${manifest.samples} samples + ${manifest.failures} failures ${adds} ${manifest.prompts} prompts, by id and hash; ${manifest.outputTokens} output tokens`,
    `progress.json: ${JSON.stringify(progress)}`,
    '',
    'Files',
    `  run       ${store.uri}/${keys.root}`,
    `  manifest  ${store.uri}/${keys.manifest}`,
    `  dataset   ${place.dataset}`,
    `  logs      ${place.home}/logs`,
    '',
    'The same run again, while the workers are up (npm run demo -- --keep):',
    `  temporal workflow start --address ${place.address} --task-queue longhaul --type expandDataset --workflow-id run-${run}-again --input '${again}'`,
    `  tctl --address ${place.address} workflow start --taskqueue longhaul --workflow_type expandDataset --workflow_id run-${run}-again --input '${again}'`,
    ...(place.ui ? ['', `Temporal UI: ${place.ui}`] : []),
  ].join('\n')
}
