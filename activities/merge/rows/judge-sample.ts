import { endsInLoop } from '../../../domain/repetition.ts'
import type { DatasetOptions } from '../../../domain/spec.ts'
import { decodeRaw, type RawNode } from './raw-json.ts'
import type { RawMessage, RawSample } from './raw-sample.ts'

/** Why a row does not go into a dataset. */
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
  sample: RawSample,
  { truncated, quality }: Pick<DatasetOptions, 'truncated' | 'quality'>,
): DropReason | undefined {
  const { bytes, messages } = sample
  if (sample.truncated && truncated === 'out') return 'truncated'
  const answers = messages.filter(({ role }) => role === 'assistant')
  const isEmpty = answers.length === 0 || answers.some((turn) => saysNothing(bytes, turn))
  if (isEmpty && quality.empty === 'out') return 'empty'
  if (quality.looping === 'out' && answers.some(({ content }) => endsInLoop(tailOf(bytes, content)))) return 'looping'
  const { minChars } = quality
  const last = answers.at(-1)?.content
  if (minChars !== undefined && (!last || isShorter(bytes, last, minChars))) return 'tooShort'
  return undefined
}

/** Of a text that begins with something else than white space, the rest need not be looked at. */
function saysNothing(bytes: Buffer, { content, rest }: RawMessage): boolean {
  if (rest.tool_calls && rest.tool_calls.length > 0) return false
  const first = bytes[content.start + 1] ?? 0
  const isLetter = (first >= 48 && first <= 57) || (first >= 65 && first <= 90) || (first >= 97 && first <= 122)
  return !isLetter && textOf(bytes, content).trim() === ''
}

/** A character takes at most six bytes each (as an escape). */
const mostBytesPerChar = 6

function isShorter(bytes: Buffer, content: RawNode, chars: number): boolean {
  if (content.end - content.start > chars * mostBytesPerChar) return false
  return textOf(bytes, content).length < chars
}

/** Characters that are enough to see a loop by, and bytes that usually hold as many. */
const loopChars = 3_200
const loopBytes = 2 * loopChars
const space = 32

/** The end of a text, decoded from a space on: there, no escape and no character is cut in two. */
function tailOf(bytes: Buffer, content: RawNode): string {
  const from = content.end - loopBytes
  const start = from > content.start ? bytes.indexOf(space, from) : -1
  if (start < 0 || start >= content.end) return textOf(bytes, content)
  const tail = JSON.parse(`"${bytes.toString('utf8', start, content.end)}`) as string
  return tail.length >= loopChars ? tail : textOf(bytes, content)
}

function textOf(bytes: Buffer, node: RawNode): string {
  const text = decodeRaw(bytes, node)
  return typeof text === 'string' ? text : ''
}
