import type { RunRef } from '../domain/dispatch.ts'
import { runKeys } from '../domain/run-keys.ts'
import type { Spec } from '../domain/spec.ts'
import { readJson } from '../store/read-object.ts'
import type { ObjectStore } from '../store/store.ts'

/** `spec.json` of a run: written once, at its start. */
export interface RunRecord {
  spec: Spec
  specHash: string
  /** ISO 8601. */
  frozenAt: string
}

/** The store holds another run under this name. */
export class AnotherSpec extends Error {
  override readonly name = 'AnotherSpec'
}

/** Reads the frozen spec of a run. Throws `AnotherSpec` when it is not the one that the workflow was started with. */
export async function readRunRecord(store: ObjectStore, { run, specHash }: RunRef): Promise<RunRecord> {
  const record = await readJson<RunRecord>(store, runKeys(run).spec)
  if (record.specHash !== specHash) {
    throw new AnotherSpec(
      `${store.uri} holds run ${run} with spec ${record.specHash.slice(0, 12)}, not ${specHash.slice(0, 12)}.`,
    )
  }
  return record
}
