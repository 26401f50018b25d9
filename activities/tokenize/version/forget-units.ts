import type { ObjectStore } from '../../../store/store.ts'
import { readPlan, type TokenizePlan, workKeys } from '../plan/plan-file.ts'
import { unitFacts, unitKeyOf } from '../units/unit-record.ts'

/** Removes the units of a plan, and the plan last: a removal that broke off can be finished. */
export async function forgetUnits(store: ObjectStore, plan: TokenizePlan): Promise<void> {
  if (!(await store.head(workKeys.plan(plan.id)))) return
  const file = await readPlan(store, plan)
  for (const unit of file.units) {
    const key = unitKeyOf(unitFacts(file, unit))
    // The record first: rows without one count for nothing.
    for (const what of ['json', 'rows', 'left-out.jsonl'] as const) await store.delete(workKeys.unit(key, what))
  }
  await store.delete(workKeys.plan(plan.id))
}
