import { describe, expect, it } from 'vitest'
import { findingsOf } from '../../../activities/tokenize/gates.ts'
import { noTokens, type SourceTokens } from '../../../domain/tokenized.ts'

const options = { tolerate: {}, supervisedShare: { min: 0.1, max: 0.9 } }

const source = (more: Partial<SourceTokens>): SourceTokens => ({
  ...noTokens(),
  ...{ read: 100, rows: 100, tokens: 1000, supervised: 500 },
  ...more,
})

describe('the gates', () => {
  it('let rows through that are as they should be', () => {
    expect(findingsOf({ a: source({}) }, options)).toEqual([])
  })

  it.each(['unknown_role', 'text_differs', 'id_out_of_vocabulary', 'unreadable', 'end_of_turn_repeated'] as const)(
    'close for a single row of %s, and name the source',
    (reason) => {
      const [finding] = findingsOf({ a: source({}), b: source({ leftOut: { [reason]: 1 } }) }, options)
      expect(finding).toMatch(new RegExp(`^1 of 200 rows are left out as ${reason} .* b: 1\\); 0 % are tolerated$`))
    },
  )

  it('close when more rows than tolerated have nothing to learn, or an unstable boundary', () => {
    const made = (rows: number) => ({ a: source({ leftOut: { too_few_supervised: rows, unstable_boundary: rows } }) })
    expect(findingsOf(made(2), options)).toEqual([])
    expect(findingsOf(made(3), options)).toHaveLength(2)
    expect(findingsOf(made(3), { ...options, tolerate: { too_few_supervised: 0.03, unstable_boundary: 1 } })).toEqual(
      [],
    )
  })

  it('close for each source whose supervised share is out of range', () => {
    const findings = findingsOf(
      { low: source({ supervised: 50 }), high: source({ supervised: 950 }), fine: source({}) },
      options,
    )
    expect(findings).toEqual([
      '5 % of the tokens of low are supervised; allowed are 10 % to 90 %',
      '95 % of the tokens of high are supervised; allowed are 10 % to 90 %',
    ])
  })
})
