import type { Prompt, Thinking } from './prompt.ts'
import type { Sampling, Spec, ThinkingChoice } from './spec.ts'

/** How one prompt is to be asked. */
export interface PromptSettings {
  sampling: Sampling
  templateKwargs?: Record<string, unknown>
  thinking?: Thinking
}

/** What the spec says for a prompt: its source's own settings over the run's, and its row's own template arguments. */
export function settingsFor(
  prompt: Prompt,
  spec: Pick<Spec, 'sampling' | 'thinking' | 'seed' | 'sources'>,
): PromptSettings {
  const source = spec.sources.find((candidate) => candidate.name === prompt.source)
  const thinking = thinkingFor(prompt, source?.thinking ?? spec.thinking, spec.seed)
  const templateKwargs = { ...prompt.templateKwargs, ...thinkingKwargs(thinking) }
  return {
    sampling: { ...spec.sampling, ...source?.sampling },
    ...(Object.keys(templateKwargs).length > 0 && { templateKwargs }),
    ...(thinking && { thinking }),
  }
}

/** A mix is drawn by the prompt's id and the seed, so that a prompt is asked the same way however often it is asked. */
function thinkingFor(prompt: Prompt, choice: ThinkingChoice, seed: string): Thinking | undefined {
  if (choice === 'default') return prompt.thinking
  if (typeof choice === 'string') return choice
  return unitInterval(`${seed}/${prompt.promptId}`) < choice.onShare ? 'on' : 'off'
}

/** Qwen's templates read `enable_thinking`, DeepSeek's `thinking`; each ignores the other. */
function thinkingKwargs(thinking: Thinking | undefined): Record<string, boolean> {
  if (!thinking) return {}
  return { enable_thinking: thinking === 'on', thinking: thinking === 'on' }
}

/** FNV-1a with a final mix: evenly spread over [0, 1). */
function unitInterval(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
