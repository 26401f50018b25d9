import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import { RowLeftOut } from './row-left-out.ts'
import { hasAdjacentSupervised, tidySpans } from './token-row.ts'

/** Ids and supervised stretches, before it is decided how many rows they make. */
export interface TokenSequence {
  ids: Int32Array
  spans: readonly number[]
}

/**
 * Brings a sequence to the length that rows may have, by the policy of the spec. Pieces of a split that have nothing to
 * learn are not given. Throws `RowLeftOut` when nothing is left.
 */
export function fitLength(
  sequence: TokenSequence,
  { maxLength, overlong }: Pick<TokenizeOptions, 'maxLength' | 'overlong'>,
): TokenSequence[] {
  const { length } = sequence.ids
  if (length > maxLength && overlong === 'drop') throw new RowLeftOut('too_long', `${length} tokens`)
  const pieces: TokenSequence[] = []
  const end = overlong === 'split' ? length : Math.min(length, maxLength)
  for (let start = 0; start < end; start += maxLength) {
    const piece = cutOut(sequence, start, Math.min(end, start + maxLength))
    if (hasAdjacentSupervised(piece.spans)) pieces.push(piece)
  }
  if (pieces.length === 0) {
    throw new RowLeftOut(
      'too_few_supervised',
      length > maxLength ? `${length} tokens before the cut` : `${length} tokens`,
    )
  }
  return pieces
}

function cutOut({ ids, spans }: TokenSequence, start: number, end: number): TokenSequence {
  if (start === 0 && end === ids.length) return { ids, spans }
  const inside = spans.map((at) => Math.min(Math.max(at, start), end) - start)
  return { ids: ids.subarray(start, end), spans: tidySpans(inside) }
}
