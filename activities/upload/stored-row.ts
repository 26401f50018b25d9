import type { FailureReason } from '../../domain/failure-reasons.ts'
import type { Usage } from '../../domain/sample.ts'
import { BadRow } from '../../formats/stored-rows.ts'
import { decodeRaw, memberOf, parseRaw, type RawNode, RawSyntax } from '../merge/rows/raw-json.ts'

/** What a commit record needs to know of a sample. */
export interface SampleFact {
  promptId: string
  source: string
  inputTokens: number
  outputTokens: number
  isTruncated: boolean
}

/** What a commit record needs to know of a failure. */
export interface FailureFact {
  promptId: string
  source: string
  reason: FailureReason
}

/** Reads the facts of a sample from its row without decoding its texts and ids. Throws `BadRow`. */
export function sampleFactOf(row: Buffer): SampleFact {
  const node = parsed(row)
  const usage = member<Usage>(row, node, 'usage')
  return {
    ...headOf(row, node),
    inputTokens: usage.promptTokens,
    outputTokens: usage.completionTokens,
    isTruncated: member<boolean>(row, node, 'truncated'),
  }
}

/** Throws `BadRow`. */
export function failureFactOf(row: Buffer): FailureFact {
  const node = parsed(row)
  return { ...headOf(row, node), reason: member<FailureReason>(row, node, 'reason') }
}

/** Throws `BadRow`. */
export function promptFactOf(row: Buffer): { promptId: string; source: string } {
  return headOf(row, parsed(row))
}

function headOf(row: Buffer, node: RawNode): { promptId: string; source: string } {
  return { promptId: member<string>(row, node, 'promptId'), source: member<string>(row, node, 'source') }
}

function parsed(row: Buffer): RawNode {
  try {
    return parseRaw(row, 0, row.length)
  } catch (error) {
    if (error instanceof RawSyntax || error instanceof SyntaxError) throw new BadRow(`is no JSON: ${error.message}`)
    throw error
  }
}

function member<Value>(row: Buffer, node: RawNode, name: string): Value {
  const found = memberOf(node, name)
  if (!found) throw new BadRow(`has no ${name}`)
  return decodeRaw(row, found) as Value
}
