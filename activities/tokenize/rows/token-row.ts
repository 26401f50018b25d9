/** A row of training data: ids, and which of them the model is to learn to write. */
export interface TokenRow {
  promptId: string
  /** Rows of one prompt are numbered from 0. */
  part: number
  source: string
  ids: Int32Array
  /** Supervised stretches, in order and apart: first token, and the one after the last, in turns. */
  spans: readonly number[]
}

/** How many tokens are supervised. */
export function supervisedTokens(spans: readonly number[]): number {
  let tokens = 0
  for (let n = 0; n < spans.length; n += 2) tokens += (spans[n + 1] ?? 0) - (spans[n] ?? 0)
  return tokens
}

/** A model learns from a token by the one before it: single supervised tokens teach nothing that can be checked. */
export function hasAdjacentSupervised(spans: readonly number[]): boolean {
  return spans.some((end, n) => n % 2 === 1 && end - (spans[n - 1] ?? 0) >= 2)
}

/** Joins stretches that touch, and leaves out empty ones. */
export function tidySpans(spans: readonly number[]): number[] {
  const tidy: number[] = []
  for (let n = 0; n < spans.length; n += 2) {
    const [start = 0, end = 0] = [spans[n], spans[n + 1]]
    if (end <= start) continue
    if (tidy.at(-1) === start && tidy.length > 0) tidy[tidy.length - 1] = end
    else tidy.push(start, end)
  }
  return tidy
}

/** A byte per token: 1 where it is supervised. */
export function fillMask(mask: Uint8Array | Int8Array, spans: readonly number[], at = 0): void {
  for (let n = 0; n < spans.length; n += 2) mask.fill(1, at + (spans[n] ?? 0), at + (spans[n + 1] ?? 0))
}

/** The supervised stretches of a mask. */
export function spansOfMask(mask: ArrayLike<number | boolean>, start = 0, end = mask.length): number[] {
  const spans: number[] = []
  let isInside = false
  for (let at = start; at < end; at++) {
    if (Boolean(mask[at]) === isInside) continue
    spans.push(at - start)
    isInside = !isInside
  }
  if (isInside) spans.push(end - start)
  return spans
}
