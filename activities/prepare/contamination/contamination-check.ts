import type { Contaminated } from '../../../domain/contaminated.ts'
import type { Message } from '../../../domain/prompt.ts'
import { firstMatch } from './ngram-index.ts'
import type { Contamination } from './read-evaluation.ts'

export type Match = Pick<Contaminated, 'words' | 'evaluation'>

/** What a prompt's turns share with evaluation data, if anything. */
export function contaminationOf(
  messages: readonly Message[],
  { tables, files, fileOfText, rowOfText }: Contamination,
): Match | undefined {
  for (const { content } of messages) {
    const match = firstMatch(content, tables)
    if (!match) continue
    const file = files[fileOfText[match.text] ?? 0] ?? ''
    return { words: match.words, evaluation: { file, row: rowOfText[match.text] ?? 0 } }
  }
  return undefined
}
