import { describe, expect, it } from 'vitest'
import { fitLength } from '../../../activities/tokenize/rows/fit-length.ts'
import { rowsFromIds, type TurnWithIds } from '../../../activities/tokenize/rows/rows-from-ids.ts'

const end = 9
const rules = { idLimit: 100, endIds: new Set([end]) }

function turn(promptIds: number[], outputIds: number[]): TurnWithIds {
  return { promptIds: Int32Array.from(promptIds), outputIds: Int32Array.from(outputIds) }
}

const rows = (...turns: TurnWithIds[]) =>
  rowsFromIds(turns, rules).map(({ ids, spans }) => ({ ids: [...ids], spans: [...spans] }))

describe('rows of samples with ids', () => {
  it('supervise what the engine wrote, its end of turn once', () => {
    expect(rows(turn([1, 2, 3], [4, 5, end]))).toEqual([{ ids: [1, 2, 3, 4, 5, end], spans: [3, 6] }])
  })

  it('have no end of turn where the answer was cut', () => {
    expect(rows(turn([1, 2], [4, 5]))).toEqual([{ ids: [1, 2, 4, 5], spans: [2, 4] }])
  })

  it('hold all turns of a conversation that only grew', () => {
    expect(rows(turn([1, 2], [4, end]), turn([1, 2, 4, end, 7, 8], [5, end]))).toEqual([
      { ids: [1, 2, 4, end, 7, 8, 5, end], spans: [2, 4, 6, 8] },
    ])
  })

  it('supervise no end of turn that the template gave to an answer that was cut', () => {
    expect(rows(turn([1, 2], [4]), turn([1, 2, 4, end, 7], [5, end]))).toEqual([
      { ids: [1, 2, 4, end, 7, 5, end], spans: [2, 3, 5, 7] },
    ])
  })

  it('are one for each turn where the template rewrote the history', () => {
    expect(rows(turn([1, 2], [50, 4, end]), turn([1, 2, 4, end, 7], [51, 5, end]))).toEqual([
      { ids: [1, 2, 50, 4, end], spans: [2, 5] },
      { ids: [1, 2, 4, end, 7, 51, 5, end], spans: [5, 8] },
    ])
  })

  it('are left out for an id that the tokenizer does not know, and for writing on after the end', () => {
    expect(() => rows(turn([1], [4, 100, end]))).toThrow(/Found: 100; there are 100/)
    expect(() => rows(turn([1], [4, end, 5, end]))).toThrow(/wrote on after an end of turn/)
  })
})

describe('a row that is too long', () => {
  const sequence = { ids: Int32Array.from([1, 2, 3, 4, 5, 6, 7, 8]), spans: [2, 4, 5, 8] }
  const fitted = (maxLength: number, overlong: 'drop' | 'cut' | 'split') =>
    fitLength(sequence, { maxLength, overlong }).map(({ ids, spans }) => ({ ids: [...ids], spans: [...spans] }))

  it('is left alone when it is not', () => {
    expect(fitted(8, 'drop')).toEqual([{ ids: [...sequence.ids], spans: [2, 4, 5, 8] }])
  })

  it('is dropped', () => {
    expect(() => fitted(7, 'drop')).toThrow(/longer than `maxLength`.*8 tokens/)
  })

  it('is cut on the right, its mask with it', () => {
    expect(fitted(6, 'cut')).toEqual([{ ids: [1, 2, 3, 4, 5, 6], spans: [2, 4, 5, 6] }])
  })

  it('becomes several, without those that have nothing to learn', () => {
    expect(fitted(4, 'split')).toEqual([
      { ids: [1, 2, 3, 4], spans: [2, 4] },
      { ids: [5, 6, 7, 8], spans: [1, 4] },
    ])
    expect(fitted(2, 'split')).toEqual([
      { ids: [3, 4], spans: [0, 2] },
      { ids: [7, 8], spans: [0, 2] },
    ])
  })

  it('is left out when nothing of two adjacent supervised tokens is left', () => {
    expect(() => fitted(3, 'cut')).toThrow(/No two adjacent tokens/)
  })
})
