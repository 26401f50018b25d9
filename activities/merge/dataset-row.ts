import type { Sample } from '../../domain/sample.ts'
import { skeletonText } from '../../domain/skeleton.ts'
import { conversationReader } from '../../formats/conversation/read-conversation.ts'
import { parseJsonRow } from '../../formats/json-row.ts'
import { RowRejected } from '../../formats/row-rejected.ts'
import { id128 } from '../../shuffle/digest.ts'
import { reduceToSkeleton } from '../prepare/reduce-conversation.ts'

/** What the merge needs to know of a row. */
export interface RowFacts {
  /** Of the conversation skeleton, as in `promptId`: rows with the same one are duplicates. */
  id: string
  source: string
}

const readConversation = conversationReader({ orderOptions: (_question, options) => options })
const turnPolicy = { toolResults: 'keep', midSystem: 'keep', consecutiveUsers: 'keep' } as const

/** Rows without a source of their own. */
export const unnamedSource = 'unknown'

/**
 * Facts of a row that the dataset has. A row without a conversation that we can read is kept and known by its own text, so
 * that it is a duplicate of nothing else. Throws `RowRejected` for a row that is no JSON object.
 */
export function factsOfOld(text: string): RowFacts {
  const row = parseJsonRow(text)
  const source = typeof row.source === 'string' && row.source !== '' ? row.source : unnamedSource
  try {
    const { messages, tools } = readConversation(row)
    const skeleton = reduceToSkeleton(messages, turnPolicy, () => {})
    return { id: id128(skeletonText(skeleton, tools)), source }
  } catch (error) {
    if (!(error instanceof RowRejected)) throw error
    return { id: id128(`row\n${text}`), source }
  }
}

/** A sample as a row of a dataset. */
export function rowOfSample(sample: Sample, run: string): string {
  const { promptId, source, messages, tools, thinking, finishReason, truncated, model, weightVersion, provenance } =
    sample
  const row = {
    promptId,
    source,
    messages,
    ...(tools && { tools: JSON.stringify(tools) }),
    ...(thinking && { thinking }),
    finishReason,
    truncated,
    model,
    provenance: { run, weightVersion, ...provenance },
  }
  return JSON.stringify(row)
}
