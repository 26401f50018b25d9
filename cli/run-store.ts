import { Option } from '@commander-js/extra-typings'
import { runKeys } from '../domain/run-keys.ts'
import { createOpenStore, type StoreOpener } from '../store/open-store.ts'
import type { Retry } from '../store/retry.ts'
import type { DurableStore } from '../store/store.ts'
import { type Environment, readEnvironment } from '../workers/environment.ts'
import { AnswerIsNo } from './exit.ts'

export function storeOption() {
  return new Option('--store <uri>', 'store that the run lives in; left out: the default store')
}

/** Somebody is waiting: unlike a worker, a command says after so long that the store is out of reach. */
const outageBudgetMs = 30_000

/** Opens the store of a run for as long as `use` takes. Throws `AnswerIsNo` when there is no such run in it. */
export async function withRunStore<Result>(
  run: string,
  storeUri: string | undefined,
  use: (store: DurableStore) => Promise<Result>,
): Promise<Result> {
  return await withStore(storeUri, async (store) => {
    if (!(await store.head(runKeys(run).spec))) {
      throw new AnswerIsNo(`${store.uri} holds no run ${run}. Name its store with --store.`)
    }
    return await use(store)
  })
}

/** Opens a store, the default one when none is named, for as long as `use` takes. */
export async function withStore<Result>(
  storeUri: string | undefined,
  use: (store: DurableStore, environment: Environment) => Promise<Result>,
): Promise<Result> {
  const environment = readEnvironment(process.env)
  const openStore: StoreOpener = createOpenStore({ s3: { ...environment.s3, outageBudgetMs, onRetry: tellRetry } })
  try {
    return await use(openStore(storeUri ?? environment.defaultStore), environment)
  } finally {
    await openStore.close()
  }
}

/** A command that seems to hang says what it waits for. */
function tellRetry({ operation, uri, key, attempts, error }: Retry): void {
  process.stderr.write(
    `longhaul: ${operation} ${uri}/${key} failed ${attempts} times (${error.message}); trying again\n`,
  )
}
