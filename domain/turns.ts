import type { Message } from './prompt.ts'

/**
 * After which messages of a skeleton the assistant is asked: every user turn, and the last of the tool results that stand
 * together. Returned as counts of messages, so `messages.slice(0, n)` is what the nth answer is asked for with.
 */
export function turnEnds(messages: readonly Message[]): number[] {
  const ends: number[] = []
  messages.forEach((message, index) => {
    const isLastToolResult = message.role === 'tool' && messages[index + 1]?.role !== 'tool'
    if (message.role === 'user' || isLastToolResult) ends.push(index + 1)
  })
  return ends
}
