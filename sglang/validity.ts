import type { Finding } from './error-table.ts'

/** What a reply with status 200 claims, whichever endpoint it came from. */
export interface Claim {
  /** `stop`, `length`, `tool_calls`, `abort`, or whatever else the engine said. */
  finishType: unknown
  /** What ended it: a token id or a stop string. */
  matched?: unknown
  /** The abort's own words. */
  message?: unknown
  /** Raw text, thinking included. */
  text: unknown
  completionTokens: unknown
  /** The ids that were written, where they were asked for. */
  outputIds?: unknown
  hasToolCalls?: boolean
}

export interface Verdict {
  finding: Finding
  said: string
}

/**
 * The validity gate: HTTP 200 is not success. Returns what is wrong with a reply, or undefined when it may become a sample.
 * Truncation is no fault here; what to do about it is the spec's to say.
 */
export function faultOf(claim: Claim): Verdict | undefined {
  const { finishType, matched, text, completionTokens, outputIds } = claim
  if (finishType === 'abort')
    return { finding: 'aborted', said: `aborted: ${String(claim.message ?? 'no reason given')}` }
  if (matched === 'NaN happened')
    return { finding: 'nan', said: 'finish reason "NaN happened": a token outside the vocabulary' }
  if (finishType !== 'stop' && finishType !== 'length' && finishType !== 'tool_calls') {
    return { finding: 'malformed', said: `finish reason ${JSON.stringify(finishType)}` }
  }
  if (typeof text !== 'string') return { finding: 'malformed', said: 'the reply has no text' }
  if (typeof completionTokens !== 'number')
    return { finding: 'malformed', said: 'the reply has no count of completion tokens' }
  if (text.trim() === '' && !claim.hasToolCalls)
    return { finding: 'empty', said: `nothing but white space (${completionTokens} tokens)` }
  if (outputIds !== undefined && !isListOfIds(outputIds, completionTokens)) {
    return { finding: 'malformed', said: `output_ids do not match ${completionTokens} completion tokens` }
  }
  return undefined
}

function isListOfIds(ids: unknown, count: number): boolean {
  return Array.isArray(ids) && ids.length === count && ids.every((id) => Number.isInteger(id) && id >= 0)
}
