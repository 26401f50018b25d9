import type { Message, Role } from '../../domain/prompt.ts'
import { skeletonTurn } from '../../domain/skeleton.ts'
import type { TurnPolicy } from '../../domain/spec.ts'
import { hasMediaMark, isBlank } from '../../formats/conversation/content.ts'
import { RowRejected, shown } from '../../formats/row-rejected.ts'

/** What reducing changed in conversations; counted per source. */
export type ReductionNote =
  /** System or user turns without a text were left out. */
  | 'emptyTurnsDropped'
  /** Several leading system turns became one. */
  | 'leadingSystemsMerged'
  /** A user turn follows a user turn without an answer between. */
  | 'consecutiveUserTurns'
  /** Tool results were left out: by policy, or since no user turn is before them. */
  | 'toolResultsDropped'
  /** A system turn after the first user turn was left out, by policy. */
  | 'midSystemsDropped'

interface Reduction {
  readonly policy: TurnPolicy
  readonly note: (what: ReductionNote) => void
  readonly skeleton: Message[]
  hasUser: boolean
  /** Who spoke last in the source, the assistant included. */
  previous?: Role
}

/**
 * Reduces a conversation to the skeleton that the model is to answer: system and user turns and tool results. What the
 * source's assistant said goes; texts stay byte for byte. Throws `RowRejected`.
 */
export function reduceToSkeleton(
  messages: readonly Message[],
  policy: TurnPolicy,
  note: (what: ReductionNote) => void,
): Message[] {
  const reduction: Reduction = { policy, note, skeleton: [], hasUser: false }
  for (const message of messages) {
    if (hasMediaMark(message.content) && message.role !== 'assistant') {
      throw new RowRejected('multimodal', shown(message.content))
    }
    if (message.role !== 'tool' && message.role !== 'assistant' && isBlank(message.content)) {
      note('emptyTurnsDropped')
      continue
    }
    take[message.role](message, reduction)
    reduction.previous = message.role
  }
  if (!reduction.hasUser) throw new RowRejected('no_user_turn', `${messages.length} turns`)
  return reduction.skeleton
}

const take: Readonly<Record<Role, (message: Message, reduction: Reduction) => void>> = {
  assistant() {},
  user(message, reduction) {
    reduction.hasUser = true
    const last = reduction.skeleton.at(-1)
    if (reduction.previous === 'user') reduction.note('consecutiveUserTurns')
    if (reduction.previous === 'user' && reduction.policy.consecutiveUsers === 'merge' && last) {
      last.content += `\n\n${message.content}`
    } else {
      reduction.skeleton.push(skeletonTurn(message))
    }
  },
  tool(message, { policy, note, skeleton, hasUser }) {
    if (policy.toolResults === 'drop' || !hasUser) note('toolResultsDropped')
    else skeleton.push(skeletonTurn(message))
  },
  system(message, { policy, note, skeleton, hasUser }) {
    const [leading] = skeleton
    if (!hasUser && leading) {
      leading.content += `\n\n${message.content}`
      note('leadingSystemsMerged')
    } else if (!hasUser || policy.midSystem === 'keep') {
      skeleton.push(skeletonTurn(message))
    } else if (policy.midSystem === 'drop') {
      note('midSystemsDropped')
    } else {
      throw new RowRejected('system_mid_dialogue', shown(message.content))
    }
  },
}
