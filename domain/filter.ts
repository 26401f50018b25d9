/** Why a prompt was left out by the spec's own filters. */
export const filterReasons = {
  too_few_chars: 'Fewer characters than `minChars`.',
  too_many_chars: 'More characters than `maxChars`.',
  too_few_tokens: 'Fewer tokens than `minTokens`.',
  too_many_tokens: 'More tokens than `maxTokens`.',
  too_few_turns: 'Fewer user turns than `minTurns`.',
  too_many_turns: 'More user turns than `maxTurns`.',
  other_script: 'Mainly written in a script that is not among `scripts`.',
  not_included: 'Matches none of `include`.',
  excluded: 'Matches one of `exclude`.',
  other_thinking: 'Has another thinking mode than `thinking`, or none.',
  contaminated: 'Shares an n-gram with a file given in `decontaminate`.',
} as const

export type FilterReason = keyof typeof filterReasons
