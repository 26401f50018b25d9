const open = '<think>'
const close = '</think>'

/** What SGLang's parser for Qwen3 makes of a text. Thinking that was cut off is all reasoning. */
export function splitReasoning(text: string, beginsInThinking: boolean): { content: string; reasoning: string } {
  if (!beginsInThinking && !text.includes(open)) return { content: text, reasoning: '' }
  const thought = text.replace(open, '').trimStart()
  const at = thought.indexOf(close)
  if (at < 0) return { content: '', reasoning: thought }
  return { content: thought.slice(at + close.length).trimStart(), reasoning: thought.slice(0, at) }
}
