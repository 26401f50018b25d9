import type { Message, Thinking } from '../../../domain/prompt.ts'
import type { RowShape } from '../../../domain/row-shape.ts'
import type { Sample } from '../../../domain/sample.ts'
import { skeletonText } from '../../../domain/skeleton.ts'
import { textOf } from '../../../formats/conversation/content.ts'
import { conversationReader } from '../../../formats/conversation/read-conversation.ts'
import { isObject, type Row, valueAt } from '../../../formats/conversation/row.ts'
import { RowRejected } from '../../../formats/row-rejected.ts'
import { id128 } from '../../../shuffle/digest.ts'
import { reduceToSkeleton } from '../../prepare/reduce-conversation.ts'
import type { AnswerEnd } from './render-turns.ts'
import { RowLeftOut } from './row-left-out.ts'

/** A conversation with its answers, as it was read. */
export interface ReadConversation {
  promptId: string
  source: string
  messages: Message[]
  tools?: unknown[]
  /** What the row itself wants the chat template to be told. */
  templateKwargs: Record<string, unknown>
  /** How each answer ended. */
  ends: AnswerEnd[]
}

/** The source of rows that name none. */
export const unnamedSource = '(no source)'

export function conversationOfSample(sample: Sample): ReadConversation {
  const { promptId, source, messages, tools, templateKwargs = {}, turns, finishReason, truncated } = sample
  const answers = messages.filter(({ role }) => role === 'assistant').length
  const ends =
    turns.length === answers
      ? turns.map((turn): AnswerEnd => (turn.finishReason === 'length' ? 'cut' : 'whole'))
      : endsOf(answers, truncated, finishReason === 'length')
  return { promptId, source, messages, ...(tools && { tools }), templateKwargs, ends }
}

/** Makes the reader of a dataset's rows. It throws `RowLeftOut`. */
export function conversationOfRow(shape: RowShape | undefined): (row: Row) => ReadConversation {
  const { turns, prompt, answer, system } = shape ?? {}
  const mapping = {
    ...(turns && { turns: turns.column, role: turns.role, content: turns.content, roles: rolesOf(turns.names) }),
    ...(prompt !== undefined && { prompt }),
    ...(system !== undefined && { system }),
  }
  const read = conversationReader({ mapping, orderOptions: (_question, options) => options })

  return (row) => {
    try {
      const { messages, tools, templateKwargs, thinking } = read(row)
      const promptId = typeof row.promptId === 'string' ? row.promptId : idOf(messages, tools)
      if (answer !== undefined) messages.push({ role: 'assistant', content: textOf(valueAt(row, answer)) })
      const answers = messages.filter(({ role }) => role === 'assistant').length
      const provenance = isObject(row.provenance) ? row.provenance : {}
      const isTruncated = provenance.truncated === true || row.truncated === true
      return {
        promptId,
        source: [row.source, provenance.source].find(isName) ?? unnamedSource,
        messages,
        ...(tools && { tools }),
        templateKwargs: { ...kwargsOf(thinking), ...templateKwargs },
        ends: endsOf(answers, isTruncated, row.finishReason === 'length' || answers === 1),
      }
    } catch (error) {
      if (!(error instanceof RowRejected)) throw error
      throw new RowLeftOut(error.reason === 'unknown_role' ? 'unknown_role' : 'unreadable', error.message)
    }
  }
}

/** Of several answers of which some were cut, it is not known which: only what was said of the last one is. */
function endsOf(answers: number, isTruncated: boolean, isLastCut: boolean): AnswerEnd[] {
  const last: AnswerEnd = isTruncated && isLastCut ? 'cut' : 'whole'
  const others: AnswerEnd = isTruncated && answers > 1 ? 'unknown' : 'whole'
  return Array.from({ length: answers }, (_, n) => (n === answers - 1 ? last : others))
}

const turnPolicy = { toolResults: 'keep', midSystem: 'keep', consecutiveUsers: 'keep' } as const

/** As prompts get their ids, so that a row is known as the duplicate of a sample. */
function idOf(messages: readonly Message[], tools: readonly unknown[] | undefined): string {
  return id128(
    skeletonText(
      reduceToSkeleton(messages, turnPolicy, () => {}),
      tools,
    ),
  )
}

/** Qwen's templates read `enable_thinking`, DeepSeek's `thinking`. */
function kwargsOf(thinking: Thinking | undefined): Record<string, unknown> {
  return thinking ? { enable_thinking: thinking === 'on', thinking: thinking === 'on' } : {}
}

function rolesOf(names: Readonly<Record<Message['role'], string>>): Record<string, Message['role']> {
  return Object.fromEntries(Object.entries(names).map(([role, name]) => [name, role as Message['role']]))
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
