const open = '<think>'
const close = '</think>'

export interface SplitAnswer {
  content: string
  /** Left out where the model did not think. */
  reasoning?: string
}

/**
 * Splits what the model thought from what it answered. `beginsInThinking` says that the chat template itself opened the
 * thinking, so that the text has only its end. Thinking that was cut off is all reasoning and no content.
 */
export function splitThinking(text: string, beginsInThinking: boolean): SplitAnswer {
  const opened = text.trimStart().startsWith(open)
  const end = text.indexOf(close)
  if (!opened && end === -1 && !beginsInThinking) return { content: text }
  const start = opened ? text.indexOf(open) + open.length : 0
  if (end === -1) return { content: '', reasoning: text.slice(start).trim() }
  const reasoning = text.slice(start, end).trim()
  const content = text.slice(end + close.length).trim()
  return reasoning === '' ? { content } : { content, reasoning }
}
