import type { Message } from './prompt.ts'

/**
 * The canonical text of a conversation skeleton: its turns except the assistant's, then the tool definitions. Its SHA-256
 * is what prompts, samples and dataset rows are deduplicated by, whatever source they come from.
 */
export function skeletonText(messages: readonly Message[], tools?: readonly unknown[]): string {
  const turns = JSON.stringify(messages.filter((message) => message.role !== 'assistant').map(skeletonTurn))
  return tools && tools.length > 0 ? withTools(turns, tools) : turns
}

/** One turn with its keys in canonical order. */
export function skeletonTurn({ role, content, tool_call_id, name }: Message): Message {
  const turn: Message = { role, content }
  if (tool_call_id !== undefined) turn.tool_call_id = tool_call_id
  if (name !== undefined) turn.name = name
  return turn
}

/** As `skeletonText`, for turns that are serialised already. */
export function withTools(turns: string, tools: readonly unknown[]): string {
  return `${turns}\n${JSON.stringify(tools, sortedKeys)}`
}

/** The same tools written with their keys in another order are the same tools. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
