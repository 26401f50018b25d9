import type { Message } from '../../domain/prompt.ts'
import { skeletonTurn } from '../../domain/skeleton.ts'
import type { TurnPolicy } from '../../domain/spec.ts'
import { hasMediaMark, isBlank } from '../../formats/conversation/content.ts'
import { RowRejected, shown } from '../../formats/row-rejected.ts'

/** What reducing changed in a conversation; counted per source. */
export const reductionNotes = {
  emptyTurnsDropped: 'user or system turns without a text',
  leadingSystemsMerged: 'several leading system turns made one',
  consecutiveUserTurns: 'user turns that follow a user turn without an answer between',
  toolResultsDropped: 'tool results left out',
} as const

export type ReductionNote = keyof typeof reductionNotes

/**
 * Reduces a conversation to the skeleton that the model is to answer: system and user turns and tool results. What the
 * source's assistant said goes; texts stay byte for byte. Throws `RowRejected`.
 */
export function reduceToSkeleton(
  messages: readonly Message[],
  policy: TurnPolicy,
  note: (what: ReductionNote) => void,
): Message[] {
  const skeleton: Message[] = []
  let hasUser = false
  let previous: Message | undefined
  for (const message of messages) {
    if (message.role === 'assistant') {
      previous = message
      continue
    }
    if (message.role === 'tool' && policy.toolResults === 'drop') {
      note('toolResultsDropped')
      continue
    }
    if (message.role !== 'tool' && isBlank(message.content)) {
      note('emptyTurnsDropped')
      continue
    }
    if (hasMediaMark(message.content)) throw new RowRejected('multimodal', shown(message.content))
    if (message.role === 'system' && skeleton.length > 0) {
      if (!hasUser) {
        mergeInto(skeleton, message, note)
        continue
      }
      if (policy.midSystem === 'reject') throw new RowRejected('system_mid_dialogue', shown(message.content))
      if (policy.midSystem === 'drop') continue
    }
    if (message.role === 'user') {
      if (previous?.role === 'user') {
        note('consecutiveUserTurns')
        if (policy.consecutiveUsers === 'merge') {
          const last = skeleton.at(-1)
          if (last) last.content += `\n\n${message.content}`
          continue
        }
      }
      hasUser = true
    }
    const turn = skeletonTurn(message)
    skeleton.push(turn)
    previous = turn
  }
  if (!hasUser) throw new RowRejected('no_user_turn', `${messages.length} turns`)
  return skeleton
}

function mergeInto(skeleton: Message[], message: Message, note: (what: ReductionNote) => void): void {
  const last = skeleton.at(-1)
  if (last?.role !== 'system') throw new RowRejected('no_user_turn', 'a tool result before any user turn')
  last.content += `\n\n${message.content}`
  note('leadingSystemsMerged')
}
