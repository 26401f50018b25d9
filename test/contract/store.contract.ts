import { describe, it } from 'vitest'
import type { Backend, Case, Gaps } from './store-backend.ts'
import { conditionCases } from './store-conditions.ts'
import { copyCases } from './store-copying.ts'
import { helperCases } from './store-helpers.ts'
import { keyCases } from './store-keys.ts'
import { leftoverCases } from './store-leftovers.ts'
import { listCases } from './store-listing.ts'
import { objectCases } from './store-objects.ts'
import { raceCases } from './store-races.ts'
import { streamCases } from './store-streams.ts'

/** What every store promises. `backend` is asked for when the first case runs. */
export function describeStore(name: string, backend: () => Backend, gaps: Gaps = {}): void {
  describe(name, () => {
    const unused = new Set(Object.keys(gaps))
    const declare: Case = (title, work, timeoutMs) => {
      const gap = gaps[title]
      unused.delete(title)
      if (gap === undefined) it(title, work, timeoutMs)
      else it.skip(`${title} [gap: ${gap}]`, work)
    }
    describe('objects', () => objectCases(declare, backend))
    describe('keys', () => keyCases(declare, backend))
    describe('conditions', () => conditionCases(declare, backend))
    describe('streams', () => streamCases(declare, backend))
    describe('copies', () => copyCases(declare, backend))
    describe('lists', () => listCases(declare, backend))
    describe('helpers', () => helperCases(declare, backend))
    describe('leftovers', () => leftoverCases(declare, backend))
    describe('races', () => raceCases(declare, backend))
    it('names only gaps that exist', ({ expect }) => {
      expect([...unused]).toEqual([])
    })
  })
}
