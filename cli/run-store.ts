import { Option } from '@commander-js/extra-typings'
import { runKeys } from '../domain/run-keys.ts'
import { createOpenStore } from '../store/open-store.ts'
import type { ObjectStore } from '../store/store.ts'
import { readEnvironment } from '../workers/environment.ts'
import { AnswerIsNo } from './exit.ts'

export function storeOption() {
  return new Option('--store <uri>', 'store that the run lives in; left out: the default store')
}

/** Opens the store of a run for as long as `use` takes. Throws `AnswerIsNo` when there is no such run in it. */
export async function withRunStore<Result>(
  run: string,
  storeUri: string | undefined,
  use: (store: ObjectStore) => Promise<Result>,
): Promise<Result> {
  const environment = readEnvironment(process.env)
  const openStore = createOpenStore({ s3: environment.s3 })
  try {
    const store = openStore(storeUri ?? environment.defaultStore)
    if (!(await store.head(runKeys(run).spec))) {
      throw new AnswerIsNo(`${store.uri} holds no run ${run}. Name its store with --store.`)
    }
    return await use(store)
  } finally {
    await openStore.close()
  }
}
