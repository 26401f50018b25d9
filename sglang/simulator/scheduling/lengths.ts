import { normal, randomFrom } from './random.ts'

/** How long answers would be if nothing cut them. */
export interface LengthDistribution {
  /** Mean of the distribution itself, in tokens. */
  meanTokens: number
  /** Standard deviation of the logarithm; 0 makes every answer `meanTokens` long. */
  sigma: number
  /** No answer is longer, in tokens. */
  maxTokens: number
}

/** The length that belongs to a seed, in tokens: lognormal, at least 1. */
export function lengthFrom({ meanTokens, sigma, maxTokens }: LengthDistribution, seed: number): number {
  // The mean of a lognormal lies above its median by half the variance.
  const median = Math.log(meanTokens) - (sigma * sigma) / 2
  const tokens = Math.round(Math.exp(median + sigma * normal(randomFrom(seed))))
  return Math.max(1, Math.min(maxTokens, tokens))
}
