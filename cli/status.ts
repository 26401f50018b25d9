import { Command } from '@commander-js/extra-typings'
import type { Progress } from '../domain/progress.ts'
import { runKeys } from '../domain/run-keys.ts'
import { readJson } from '../store/read-object.ts'
import { AnswerIsNo } from './exit.ts'
import { storeOption, withRunStore } from './run-store.ts'

export function statusCommand() {
  return new Command('status')
    .description('Show how a run stands, from its progress.json.')
    .argument('<run>', 'name of the run')
    .addOption(storeOption())
    .option('--json', 'print progress.json as it is')
    .addHelpText('after', '\nExample:\n  longhaul status my-run --json')
    .action((run, { store, json }) =>
      withRunStore(run, store, async (opened) => {
        const { progress: key } = runKeys(run)
        if (!(await opened.head(key)))
          throw new AnswerIsNo(`Run ${run} has only just been started: it has no progress yet.`)
        const progress = await readJson<Progress>(opened, key)
        process.stdout.write(json ? `${JSON.stringify(progress)}\n` : describeProgress(run, progress))
      }),
    )
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
