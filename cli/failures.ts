import { Command, Option } from '@commander-js/extra-typings'
import { readFailures } from '../activities/retry/failures.ts'
import { type FailureReason, failureReasons } from '../domain/failure-reasons.ts'
import type { Failure } from '../domain/sample.ts'
import type { ObjectStore } from '../store/store.ts'
import { storeOption, withRunStore } from './run-store.ts'

export function failuresCommand() {
  return new Command('failures')
    .description('List the prompts of a run that ended without a sample, grouped by reason.')
    .argument('<run>', 'name of the run')
    .addOption(storeOption())
    .addOption(new Option('--reason <reason>', 'only these').choices(Object.keys(failureReasons) as FailureReason[]))
    .option('--list', 'every failure, with what the engines said')
    .option('--json', 'every failure as a line of JSON')
    .addHelpText('after', '\nExample:\n  longhaul failures my-run --reason timeout --list')
    .action((run, { store, reason, list, json }) =>
      withRunStore(run, store, async (opened) => {
        if (json) return await printEach(opened, run, reason, (failure) => `${JSON.stringify(failure)}\n`)
        if (list) return await printEach(opened, run, reason, describeFailure)
        process.stdout.write(describeGroups(await groupsOf(opened, run, reason)))
      }),
    )
}

interface Group {
  reason: FailureReason
  count: number
  sources: Set<string>
  engines: Set<string>
  example: Failure
}

async function* chosen(store: ObjectStore, run: string, reason: FailureReason | undefined): AsyncGenerator<Failure> {
  for await (const { failure } of readFailures(store, run)) if (!reason || failure.reason === reason) yield failure
}

async function printEach(
  store: ObjectStore,
  run: string,
  reason: FailureReason | undefined,
  text: (failure: Failure) => string,
): Promise<void> {
  for await (const failure of chosen(store, run, reason)) process.stdout.write(text(failure))
}

async function groupsOf(store: ObjectStore, run: string, reason: FailureReason | undefined): Promise<Group[]> {
  const groups = new Map<FailureReason, Group>()
  for await (const failure of chosen(store, run, reason)) {
    const known = groups.get(failure.reason)
    const group = known ?? {
      reason: failure.reason,
      count: 0,
      sources: new Set(),
      engines: new Set(),
      example: failure,
    }
    group.count += 1
    group.sources.add(failure.source)
    for (const { engine } of failure.attempts) group.engines.add(engine)
    groups.set(failure.reason, group)
  }
  return [...groups.values()].sort((a, b) => b.count - a.count)
}

function describeGroups(groups: Group[]): string {
  if (groups.length === 0) return 'No failures.\n'
  const lines = groups.flatMap(({ reason, count, sources, engines, example }) => [
    `${String(count).padStart(7)}  ${reason}: ${failureReasons[reason]}`,
    `         sources ${[...sources].join(', ')}; engines ${[...engines].join(', ') || 'none'}`,
    `         for example ${example.promptId} (${example.provenance.file}:${example.provenance.row}): ${plain(example.message)}`,
  ])
  return `${lines.join('\n')}\n`
}

function describeFailure({ promptId, reason, provenance, attempts, message }: Failure): string {
  const lines = [
    `${promptId}  ${reason}  ${provenance.file}:${provenance.row}`,
    `  ${plain(message)}`,
    ...attempts.map(({ at, engine, durationMs, said }) => `  ${at}  ${engine}  ${durationMs} ms  ${plain(said)}`),
  ]
  return `${lines.join('\n')}\n`
}

/** What an engine said may hold anything: no control characters reach the terminal. */
function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
