import type { Column } from './columns.ts'
import type { Role } from './prompt.ts'

/** How the rows of a dataset hold a conversation, so that new rows can be written the same way. */
export interface RowShape {
  /** Column with the list of turns. */
  turns?: TurnShape
  /** Column with the prompt, for rows of one question and one answer. */
  prompt?: string
  /** Column with the answer: of the only turn, or the last one where the list of turns ends with the question. */
  answer?: string
  /** The answer is an object like a turn, or a list of one; left out: a text. */
  answerAs?: 'turn' | 'turns'
  /** Text column that repeats the first question beside the list of turns. */
  firstQuestion?: string
  /** Column with the system prompt, where it is no turn. */
  system?: string
  /** Column with the tool definitions. */
  tools?: { column: string; isText: boolean }
  /** Column with arguments for the chat template. */
  templateKwargs?: { column: string; isText: boolean }
  /** Text columns that say something else of a row: what it is, and how they are called. */
  facts?: Partial<Record<RowFact, string>>
}

export type RowFact = 'source' | 'id' | 'model' | 'license' | 'category' | 'thinking'

/** How a turn is written. */
export interface TurnShape {
  column: string
  /** The list is the text of JSON. */
  isText: boolean
  /** Keys of role, text, and the model's thinking where turns have one. */
  role: string
  content: string
  reasoning?: string
  /** What each role is called. */
  names: Record<Role, string>
  /** All keys of a turn in their order: those that we know nothing for are null. */
  keys: string[]
}

/** Of datasets that begin with their first run. */
export const defaultShape: RowShape = {
  turns: {
    column: 'messages',
    isText: false,
    role: 'role',
    content: 'content',
    reasoning: 'reasoning_content',
    names: { system: 'system', user: 'user', assistant: 'assistant', tool: 'tool' },
    keys: ['role', 'content', 'reasoning_content'],
  },
  tools: { column: 'tools', isText: true },
  facts: { source: 'source' },
}

const text = { kind: 'string' } as const

/** Columns of `defaultShape`, known before a row is: also where the first run has neither thoughts nor tools. */
export const defaultColumns: readonly Column[] = [
  {
    name: 'messages',
    type: {
      kind: 'list',
      item: {
        kind: 'struct',
        fields: ['role', 'content', 'reasoning_content'].map((name) => ({ name, type: text })),
      },
    },
  },
  { name: 'tools', type: text },
  { name: 'source', type: text },
]
