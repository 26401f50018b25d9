import type { Column } from '../../../domain/columns.ts'
import type { Message } from '../../../domain/prompt.ts'
import type { RowShape, TurnShape } from '../../../domain/row-shape.ts'
import type { Sample } from '../../../domain/sample.ts'

/** Writes samples as rows of a dataset: all its columns in their order, those that we know nothing for null. */
export function sampleRowWriter(shape: RowShape, columns: readonly Column[]) {
  const roles = columnRoles(shape)
  // Columns of the shape that the dataset does not have: only a new dataset lacks them all.
  const missing = [...roles.keys()].filter((name) => !columns.some((column) => column.name === name))
  const names = [...columns.map(({ name }) => name), ...missing]

  /** The row as JSON; undefined when the dataset's columns cannot hold the sample. */
  return function rowOf(sample: Sample): string | undefined {
    if (!canHold(sample, shape)) return undefined
    const parts: string[] = []
    for (const name of names) {
      const value = roles.get(name)?.(sample)
      parts.push(`${JSON.stringify(name)}:${value === undefined ? 'null' : JSON.stringify(value)}`)
    }
    return `{${parts.join(',')}}`
  }
}

type ValueOf = (sample: Sample) => unknown

function columnRoles(shape: RowShape): Map<string, ValueOf> {
  const { turns, prompt, answer, system, tools, source, id } = shape
  const roles = new Map<string, ValueOf>()
  if (turns) {
    roles.set(turns.column, (sample) => {
      const list = turnMessages(sample, shape).map((message) => turnOf(message, turns))
      return turns.isText ? JSON.stringify(list) : list
    })
  }
  if (prompt !== undefined) roles.set(prompt, ({ messages }) => contentOf(messages, 'user'))
  if (answer !== undefined) roles.set(answer, ({ messages }) => contentOf(messages, 'assistant'))
  if (system !== undefined) roles.set(system, ({ messages }) => contentOf(messages, 'system'))
  if (tools !== undefined) {
    roles.set(tools.column, (sample) => (tools.isText && sample.tools ? JSON.stringify(sample.tools) : sample.tools))
  }
  if (source !== undefined) roles.set(source, (sample) => sample.source)
  if (id !== undefined) roles.set(id, (sample) => sample.promptId)
  return roles
}

/** Rows of one question and one answer hold nothing longer, and no system turn without a column for it. */
function canHold({ messages, tools }: Sample, { turns, prompt, system, tools: toolColumn }: RowShape): boolean {
  if (tools && !toolColumn) return false
  if (turns) return true
  const rest = messages.filter(({ role }) => role !== 'system' || system === undefined)
  return prompt !== undefined && rest.map(({ role }) => role).join() === 'user,assistant'
}

/** The turns that go into the list: not what has a column of its own. */
function turnMessages({ messages }: Sample, { system, answer }: RowShape): Message[] {
  const withoutSystem = system !== undefined && messages[0]?.role === 'system' ? messages.slice(1) : messages
  return answer !== undefined && withoutSystem.at(-1)?.role === 'assistant' ? withoutSystem.slice(0, -1) : withoutSystem
}

function turnOf(message: Message, { role, content, reasoning = 'reasoning_content', names, keys }: TurnShape) {
  const turn: Record<string, unknown> = {}
  for (const key of keys) turn[key] = null
  turn[role] = names[message.role]
  turn[content] = message.content
  if (message.reasoning_content !== undefined) turn[reasoning] = message.reasoning_content
  if (message.tool_calls) turn.tool_calls = message.tool_calls.map(callWithTextArguments)
  if (message.tool_call_id !== undefined) turn.tool_call_id = message.tool_call_id
  if (message.name !== undefined) turn.name = message.name
  return turn
}

/** Arguments as a text, as OpenAI has them: as objects they would have another type in every row. */
function callWithTextArguments(call: unknown): unknown {
  const inner = (call as { function?: { arguments?: unknown } }).function
  if (!inner || typeof inner.arguments === 'string' || inner.arguments === undefined) return call
  return { ...(call as object), function: { ...inner, arguments: JSON.stringify(inner.arguments) } }
}

function contentOf(messages: readonly Message[], role: Message['role']): string | undefined {
  return messages.find((message) => message.role === role)?.content
}
