import { createHash } from 'node:crypto'
import type { RunRef } from '../../domain/dispatch.ts'
import { runKeys } from '../../domain/run-keys.ts'
import type { Spec } from '../../domain/spec.ts'
import { differingFields } from '../../domain/spec-differences.ts'
import { PreconditionFailed } from '../../store/errors.ts'
import { requireConditionalPuts } from '../../store/probe.ts'
import { putJson } from '../../store/put-json.ts'
import { readJson } from '../../store/read-object.ts'
import type { OpenStore } from '../../store/store.ts'
import type { RunRecord } from '../run-record.ts'

export interface StartRunDeps {
  openStore: OpenStore
  /** Where runs live whose spec names no store. */
  defaultStore: string
  now: () => number
}

/** The store holds a run of this name that was started with another spec. */
export class SpecDiffers extends Error {
  override readonly name = 'SpecDiffers'
  constructor(run: string, store: string, differences: string[]) {
    super(
      `Run ${run} in ${store} was started with another spec:\n${differences.map((line) => `  - ${line}`).join('\n')}\n` +
        'Start it with that spec to go on with it, or choose another name for a new run.',
    )
  }
}

/**
 * Freezes the spec of a run, or finds it frozen by an earlier start, which this one then goes on with. Throws `SpecDiffers`
 * when the run was started with another one.
 */
export async function startRun(spec: Spec, { openStore, defaultStore, now }: StartRunDeps): Promise<RunRef> {
  const storeUri = spec.store ?? defaultStore
  const store = openStore(storeUri)
  const key = runKeys(spec.run).spec
  const record: RunRecord = { spec, specHash: hashOf(spec), frozenAt: new Date(now()).toISOString() }
  await requireConditionalPuts(store)
  try {
    await putJson(store, key, record, { onlyIf: 'absent' })
    return { run: spec.run, store: storeUri, specHash: record.specHash }
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
  }
  const frozen = await readJson<RunRecord>(store, key)
  const differences = differingFields(frozen.spec, spec)
  if (differences.length > 0) throw new SpecDiffers(spec.run, storeUri, differences)
  return { run: spec.run, store: storeUri, specHash: frozen.specHash }
}

function hashOf(spec: Spec): string {
  return createHash('sha256').update(JSON.stringify(spec)).digest('hex')
}
