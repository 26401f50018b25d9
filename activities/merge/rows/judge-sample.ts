import { endsInLoop } from '../../../domain/repetition.ts'
import type { Sample } from '../../../domain/sample.ts'
import type { DatasetOptions } from '../../../domain/spec.ts'

/** Why a sample does not go into a dataset. */
export const dropReasons = {
  truncated: 'The answer was cut at the token limit, and the dataset takes none of those.',
  looping: 'An answer ends in an endless loop.',
  empty: 'An answer has neither text nor tool call.',
  tooShort: 'The last answer is shorter than the dataset wants.',
  unfit: 'The columns of the dataset cannot hold the conversation.',
  cap: 'Its source has as many rows as it may have.',
  share: 'The other side of the mix would have too small a share.',
} as const

export type DropReason = keyof typeof dropReasons

/** Why the policy leaves a sample out; undefined when it does not. */
export function objectionTo(
  sample: Sample,
  { truncated, quality }: Pick<DatasetOptions, 'truncated' | 'quality'>,
): DropReason | undefined {
  if (sample.truncated && truncated === 'out') return 'truncated'
  const answers = sample.messages.filter(({ role }) => role === 'assistant')
  const isEmpty = answers.length === 0 || answers.some((turn) => !turn.tool_calls?.length && turn.content.trim() === '')
  if (isEmpty && quality.empty === 'out') return 'empty'
  if (quality.looping === 'out' && answers.some((turn) => endsInLoop(turn.content))) return 'looping'
  if (quality.minChars !== undefined && (answers.at(-1)?.content.length ?? 0) < quality.minChars) return 'tooShort'
  return undefined
}
