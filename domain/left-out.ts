/**
 * Why a row did not become tokens: what a person reads, and the share of all rows for which that may happen before it
 * counts as a mistake and stops the publishing.
 */
export const leftOut = {
  too_long: { meaning: 'It is longer than `maxLength`, and the spec says that such rows are dropped.', tolerated: 1 },
  too_few_supervised: { meaning: 'No two adjacent tokens of it are supervised.', tolerated: 0.02 },
  unstable_boundary: {
    meaning: 'The tokens of the prompt change with what the answer is, so where the answer begins is not certain.',
    tolerated: 0.02,
  },
  no_answer: { meaning: 'It has no turn of the assistant.', tolerated: 0.02 },
  refused_by_template: { meaning: 'The chat template does not take the conversation.', tolerated: 0.02 },
  no_end_of_turn: { meaning: 'The chat template ends the answer with no control token.', tolerated: 0 },
  end_of_turn_repeated: { meaning: 'The engine wrote on after an end of turn.', tolerated: 0 },
  unknown_role: { meaning: 'A turn has a role that is not known.', tolerated: 0 },
  unreadable: { meaning: 'It can not be read as a conversation.', tolerated: 0 },
  id_out_of_vocabulary: { meaning: 'It has an id that the tokenizer does not know.', tolerated: 0 },
  text_differs: { meaning: 'Its ids decode to something else than its text.', tolerated: 0 },
} as const

export type LeftOutReason = keyof typeof leftOut

export const leftOutReasons = Object.keys(leftOut) as LeftOutReason[]

/** A line of `left-out.jsonl`: a row that did not become tokens. */
export interface LeftOutRow {
  /** Where it was read: the file's key, and the row in it from 1. */
  file: string
  row: number
  promptId?: string
  source: string
  reason: LeftOutReason
  /** What was found. */
  found: string
}
