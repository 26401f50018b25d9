import { createHash } from 'node:crypto'
import { ObjectNotFound } from '../../../store/errors.ts'
import { readJson, readText } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { type PlanFile, workKeys } from '../plan/plan-file.ts'
import { type UnitRecord, unitFacts, unitKeyOf } from '../units/unit-record.ts'

/** Units that have to be made (again) before they can be merged. */
export class UnitsMissing extends Error {
  override readonly name = 'UnitsMissing'
  constructor(
    readonly uri: string,
    readonly units: readonly string[],
  ) {
    super(`${units.length} units of ${uri} are not there, or not what they should be: ${units.slice(0, 3).join(', ')}`)
  }
}

/** A tokenized file, by its record. */
export interface MadeUnit {
  readonly key: string
  readonly record: UnitRecord
}

/** The records of all units of a plan. Throws `UnitsMissing`. */
export async function readUnits(store: ObjectStore, plan: PlanFile): Promise<MadeUnit[]> {
  const units: MadeUnit[] = []
  const missing: string[] = []
  for (const unit of plan.units) {
    const key = unitKeyOf(unitFacts(plan, unit))
    try {
      units.push({ key, record: await readJson<UnitRecord>(store, workKeys.unit(key, 'json')) })
    } catch (error) {
      if (!(error instanceof ObjectNotFound)) throw error
      missing.push(unit.key)
    }
  }
  if (missing.length > 0) throw new UnitsMissing(store.uri, missing)
  return units
}

/**
 * The packed rows of a unit, whole rows at a time. A unit that is not what its record says loses the record and throws
 * `UnitsMissing` at its end at the latest, before its rows can be taken for good.
 */
export async function* packedRowsOf(
  store: ObjectStore,
  { key, record }: MadeUnit,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const rowsKey = workKeys.unit(key, 'rows')
  const hash = createHash('sha256')
  let rest: Buffer = Buffer.alloc(0)
  try {
    const { body } = await store.get(rowsKey, { signal })
    for await (const chunk of body) {
      hash.update(chunk)
      rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
      const end = wholeRowsEnd(rest)
      if (end > 0) yield rest.subarray(0, end)
      rest = rest.subarray(end)
    }
  } catch (error) {
    if (!(error instanceof ObjectNotFound)) throw error
  }
  if (hash.digest('hex') === record.sha256 && rest.length === 0) return
  await store.delete(workKeys.unit(key, 'json'))
  throw new UnitsMissing(store.uri, [rowsKey])
}

/** Where the last row ends that is there to its end; a length of 0 can only be damage. */
function wholeRowsEnd(bytes: Buffer): number {
  let end = 0
  while (end + 4 <= bytes.length) {
    const length = bytes.readUInt32LE(end)
    if (length === 0 || end + length > bytes.length) break
    end += length
  }
  return end
}

/** The list of rows that a unit left out, as lines. Throws `UnitsMissing`. */
export async function leftOutLines(store: ObjectStore, { key, record }: MadeUnit): Promise<string> {
  if (record.leftOut.rows === 0) return ''
  const lines = await readText(store, workKeys.unit(key, 'left-out.jsonl'))
  if (createHash('sha256').update(lines).digest('hex') === record.leftOut.sha256) return lines
  await store.delete(workKeys.unit(key, 'json'))
  throw new UnitsMissing(store.uri, [workKeys.unit(key, 'left-out.jsonl')])
}
