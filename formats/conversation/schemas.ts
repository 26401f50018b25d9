import { type Row, valueAt } from './row.ts'

/**
 * Where the rows of public datasets hold their conversation. The first schema that fits a row is taken: lists of turns
 * before single prompts, since sets that have both repeat the first user turn in the prompt column.
 */
export interface Schema {
  readonly name: string
  /** Column with a list of turns. */
  readonly turns?: string
  /** The list may also be there as JSON in a string, as CSV files have it; not where a string can be a prompt itself. */
  readonly mayBeJson?: true
  /** Columns of a single-turn prompt; the first must be there, further ones are joined by a blank line when not empty. */
  readonly prompt?: readonly string[]
  /** Columns with the answers to choose from, listed below the prompt in an order drawn with the seed. */
  readonly options?: readonly string[]
}

export const schemas: readonly Schema[] = [
  { name: 'messages', turns: 'messages', mayBeJson: true },
  { name: 'conversations', turns: 'conversations', mayBeJson: true },
  { name: 'conversation', turns: 'conversation', mayBeJson: true },
  { name: 'input turns', turns: 'input' },
  { name: 'prompt turns', turns: 'prompt' },
  { name: 'instruction', prompt: ['instruction', 'input'] },
  { name: 'prompt', prompt: ['prompt'] },
  {
    name: 'question with options',
    prompt: ['question'],
    options: ['distractor1', 'distractor2', 'distractor3', 'correct_answer'],
  },
  { name: 'question', prompt: ['question'] },
  { name: 'problem', prompt: ['problem'] },
  { name: 'Problem', prompt: ['Problem', 'options'] },
  { name: 'message_1', prompt: ['message_1'] },
  { name: 'input', prompt: ['input'] },
]

/** Whether a row can be read by a schema: its list of turns is there and not empty, its prompt column holds a text. */
export function fits(row: Row, { turns, mayBeJson, prompt, options }: Schema): boolean {
  if (turns !== undefined) return isTurnList(valueAt(row, turns), mayBeJson)
  const [first] = prompt ?? []
  if (first === undefined || typeof valueAt(row, first) !== 'string') return false
  return options === undefined || options.every((column) => typeof valueAt(row, column) === 'string')
}

function isTurnList(value: unknown, mayBeJson = false): boolean {
  if (Array.isArray(value)) return value.length > 0
  return mayBeJson && typeof value === 'string' && /^\s*\[\s*\{/.test(value)
}
