import type { Thinking } from '../../domain/prompt.ts'
import type { ThinkingChoice } from '../../domain/spec.ts'

/** Whether a prompt is to be thought about: by the spec, else by its row; a mix is drawn by the prompt's fate. */
export function decidedThinking(
  choice: ThinkingChoice,
  ofRow: Thinking | undefined,
  fate: string,
): Thinking | undefined {
  if (choice === 'default') return ofRow
  if (typeof choice === 'string') return choice
  // The third quarter of the fate: the first two decide about order and drawing.
  return Number.parseInt(fate.slice(32, 44), 16) / 2 ** 48 < choice.onShare ? 'on' : 'off'
}
