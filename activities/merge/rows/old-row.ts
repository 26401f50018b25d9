import type { Message } from '../../../domain/prompt.ts'
import { skeletonText } from '../../../domain/skeleton.ts'
import type { Mapping } from '../../../domain/spec.ts'
import { conversationReader } from '../../../formats/conversation/read-conversation.ts'
import type { Row } from '../../../formats/conversation/row.ts'
import { RowRejected } from '../../../formats/row-rejected.ts'
import { id128 } from '../../../shuffle/digest.ts'
import { reduceToSkeleton } from '../../prepare/reduce-conversation.ts'

/** What the merge needs to know of a row that the dataset has. */
export interface OldRowFacts {
  /** Of its conversation skeleton, as in a prompt's `promptId`; null for a row without a conversation that we can read. */
  promptId: string | null
  /** What its own column says. */
  source: string | null
  /** The skeleton's text, for the search for near duplicates. */
  skeleton: readonly Message[]
}

/** As prompts are read unless a spec says otherwise. */
const turnPolicy = { toolResults: 'keep', midSystem: 'keep', consecutiveUsers: 'keep' } as const

/** Makes the reader of a dataset's rows. */
export function oldRowReader(mapping: Mapping | undefined) {
  const readConversation = conversationReader({ mapping, orderOptions: (_question, options) => options })

  return function factsOf(row: Row): OldRowFacts {
    const source = typeof row.source === 'string' && row.source !== '' ? row.source : null
    try {
      const { messages, tools } = readConversation(row)
      const skeleton = reduceToSkeleton(messages, turnPolicy, () => {})
      return { promptId: id128(skeletonText(skeleton, tools)), source, skeleton }
    } catch (error) {
      if (!(error instanceof RowRejected)) throw error
      return { promptId: null, source, skeleton: [] }
    }
  }
}
