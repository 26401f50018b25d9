/** What a run will take, as far as can be said before it. */
export interface RunEstimate {
  answers: number
  inputTokens: number
  outputTokens: number
  hours: number
  /** Compressed samples in the store. */
  storeBytes: number
  assumed: RunAssumptions
}

/** Measured on a run of 193,010 prompts with a 27B model on 8 GPUs; others can be given. */
export interface RunAssumptions {
  outputTokensPerAnswer: number
  outputTokensPerSecondPerEngine: number
  engines: number
  /** Of a sample with text and both id lists, gzipped. */
  bytesPerToken: number
}

export const usualAssumptions = {
  outputTokensPerAnswer: 2712,
  outputTokensPerSecondPerEngine: 1180,
  bytesPerToken: 3.84,
}

export function estimateRun(answers: number, inputTokens: number, assumed: RunAssumptions): RunEstimate {
  const outputTokens = Math.round(answers * assumed.outputTokensPerAnswer)
  const seconds = outputTokens / (assumed.outputTokensPerSecondPerEngine * assumed.engines)
  return {
    answers,
    inputTokens,
    outputTokens,
    hours: Math.round((seconds / 3600) * 100) / 100,
    storeBytes: Math.round((inputTokens + outputTokens) * assumed.bytesPerToken),
    assumed,
  }
}
