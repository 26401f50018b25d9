import { describe, expect, it } from 'vitest'
import { drawAmounts } from '../../domain/blend.ts'

describe('a blend', () => {
  it('takes all of every source when nothing else is said', () => {
    expect(drawAmounts([{ available: 10 }, { available: 0 }, { available: 7 }])).toEqual([10, 0, 7])
  })

  it('bounds a source by limit and share, whichever is less', () => {
    expect(
      drawAmounts([
        { available: 100, limit: 30 },
        { available: 100, share: 0.255 },
        { available: 100, share: 0.5, limit: 80 },
        { available: 5, limit: 30 },
      ]),
    ).toEqual([30, 26, 50, 5])
  })

  it('fills a target by weight with what unweighted sources leave of it', () => {
    expect(
      drawAmounts([{ available: 100 }, { available: 1000, weight: 1 }, { available: 1000, weight: 3 }], 500),
    ).toEqual([100, 100, 300])
  })

  it('gives the rest what a weighted source lacks, and never more than there is', () => {
    const supplies = [
      { available: 10, weight: 5 },
      { available: 1000, weight: 1 },
      { available: 1000, weight: 1, limit: 40 },
    ]
    expect(drawAmounts(supplies, 300)).toEqual([10, 250, 40])
    expect(drawAmounts(supplies, 5000)).toEqual([10, 1000, 40])
  })

  it('keeps the proportions of weighted sources without a target', () => {
    expect(drawAmounts([{ available: 50, weight: 1 }, { available: 1000, weight: 2 }, { available: 7 }])).toEqual([
      50, 100, 7,
    ])
  })

  it('hits the target to the prompt, left-over units going to the largest remainders', () => {
    const supplies = [1, 1, 1].map((weight) => ({ available: 100, weight }))
    expect(drawAmounts(supplies, 100)).toEqual([34, 33, 33])
    expect(drawAmounts([{ available: 10 }, { available: 20 }, { available: 30 }], 7)).toEqual([1, 2, 4])
  })

  it('gives nothing when a weighted source is empty and proportions are to be kept', () => {
    expect(
      drawAmounts([
        { available: 0, weight: 1 },
        { available: 9, weight: 1 },
      ]),
    ).toEqual([0, 0])
  })
})
