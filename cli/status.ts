import { Command } from '@commander-js/extra-typings'
import type { Progress } from '../domain/progress.ts'
import { runKeys } from '../domain/run-keys.ts'
import { createOpenStore } from '../store/open-store.ts'
import { readJson } from '../store/read-object.ts'
import { readEnvironment } from '../workers/environment.ts'
import { AnswerIsNo } from './exit.ts'

export function statusCommand() {
  return new Command('status')
    .description('Show how a run stands, from its progress.json.')
    .argument('<run>', 'name of the run')
    .option('--store <uri>', 'store that the run lives in; left out: the default store')
    .option('--json', 'print progress.json as it is')
    .addHelpText('after', '\nExample:\n  longhaul status my-run --json')
    .action(async (run, { store: storeUri, json }) => {
      const environment = readEnvironment(process.env)
      const openStore = createOpenStore({ s3: environment.s3 })
      const store = openStore(storeUri ?? environment.defaultStore)
      const { progress: key } = runKeys(run)
      if (!(await store.head(key)))
        throw new AnswerIsNo(`${store.uri} holds no run ${run}. Name its store with --store.`)
      const progress = await readJson<Progress>(store, key)
      process.stdout.write(json ? `${JSON.stringify(progress)}\n` : describeProgress(run, progress))
      await openStore.close()
    })
}

/** A run in a few lines of plain text. */
export function describeProgress(run: string, progress: Progress): string {
  const { total, completed, failed, rate_per_sec, eta_hours, elapsed_hours, status } = progress
  const share = total > 0 ? ((100 * (completed + failed)) / total).toFixed(1) : '0.0'
  return [
    `${run}: ${status}, ${share} % of ${total} prompts`,
    `  completed ${completed} · failed ${failed} · ${rate_per_sec}/s · elapsed ${elapsed_hours} h · left ${eta_hours} h`,
    `  tokens in ${progress.total_input_tokens} · out ${progress.total_output_tokens} (${progress.avg_output_tokens} a sample)`,
    `  uploaded ${progress.s3_uploaded} objects, ${progress.s3_bytes} bytes`,
    '',
  ].join('\n')
}
