import type { FilterReason } from '../../domain/filter.ts'
import { compiled } from '../../domain/pattern.ts'
import type { Message, Thinking } from '../../domain/prompt.ts'
import { mainScript, type Script } from '../../domain/scripts.ts'
import type { Filters } from '../../domain/spec.ts'

/** A prompt as filters see it. */
export interface Candidate {
  readonly messages: readonly Message[]
  readonly thinking?: Thinking
}

/** Says why a prompt is left out; nothing when it stays. */
export type PromptFilter = (candidate: Candidate) => FilterReason | undefined

/** The filters of a source as one, the cheap ones first; those on tokens are in `token-filter.ts`. */
export function promptFilter(filters: Filters = {}): PromptFilter {
  const parts = [
    thinkingFilter(filters),
    turnFilter(filters),
    charFilter(filters),
    scriptFilter(filters),
    regexFilter(filters),
  ].filter((part) => part !== undefined)
  return (candidate) => {
    for (const part of parts) {
      const reason = part(candidate)
      if (reason) return reason
    }
    return undefined
  }
}

function thinkingFilter({ thinking }: Filters): PromptFilter | undefined {
  return thinking && ((candidate) => (candidate.thinking === thinking ? undefined : 'other_thinking'))
}

function turnFilter({ minTurns, maxTurns }: Filters): PromptFilter | undefined {
  if (minTurns === undefined && maxTurns === undefined) return undefined
  return ({ messages }) => {
    const turns = messages.filter(({ role }) => role === 'user').length
    if (turns < (minTurns ?? 0)) return 'too_few_turns'
    return turns > (maxTurns ?? Number.POSITIVE_INFINITY) ? 'too_many_turns' : undefined
  }
}

function charFilter({ minChars, maxChars }: Filters): PromptFilter | undefined {
  if (minChars === undefined && maxChars === undefined) return undefined
  return ({ messages }) => {
    const chars = messages.reduce((sum, { content }) => sum + codePoints(content), 0)
    if (chars < (minChars ?? 0)) return 'too_few_chars'
    return chars > (maxChars ?? Number.POSITIVE_INFINITY) ? 'too_many_chars' : undefined
  }
}

/** Characters beyond the basic plane are two units long. */
function codePoints(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0)
}

function scriptFilter({ scripts }: Filters): PromptFilter | undefined {
  if (!scripts) return undefined
  const wanted = new Set<Script>(scripts)
  return ({ messages }) => {
    const main = mainScript(messages.map(({ content }) => content).join('\n'))
    return main && wanted.has(main) ? undefined : 'other_script'
  }
}

function regexFilter({ include, exclude }: Filters): PromptFilter | undefined {
  if (!include && !exclude) return undefined
  const wanted = include?.flatMap((pattern) => compiled(pattern) ?? [])
  const unwanted = exclude?.flatMap((pattern) => compiled(pattern) ?? [])
  const isFound = (patterns: readonly RegExp[], messages: readonly Message[]) =>
    patterns.some((pattern) => messages.some(({ content }) => pattern.test(content)))
  return ({ messages }) => {
    if (wanted && !isFound(wanted, messages)) return 'not_included'
    return unwanted && isFound(unwanted, messages) ? 'excluded' : undefined
  }
}
