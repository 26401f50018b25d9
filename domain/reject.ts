/** Why a source row never became a prompt. The text is what a person reads beside file and line. */
export const rejectReasons = {
  invalid_json: 'The row is not valid JSON.',
  invalid_utf8: 'The row holds bytes that are not UTF-8.',
  not_an_object: 'The row is valid JSON, but not an object.',
  duplicate_key: 'An object of the row names a key twice: which value was meant cannot be known.',
  too_deep: 'The row is nested too deeply.',
  row_too_long: 'The row is longer than a row may be.',
  unsafe_number: 'A number that is carried through lies beyond 2^53 and would change its value.',
  lone_surrogate: 'A text holds half a surrogate pair, which UTF-8 cannot carry.',
  nul_character: 'A text holds the character U+0000.',
  wrong_column_count: 'The row has another number of fields than the header.',
  invalid_csv: 'The row breaks the quoting rules of CSV.',
  no_known_columns: 'No known column holds turns or a prompt; a `mapping` in the spec can name one.',
  turns_unreadable: 'The column of turns is not a list of objects.',
  unknown_role: 'A turn has a role that is not known; `mapping.roles` in the spec can name it.',
  content_unreadable: 'A text is neither a string nor a list of text parts.',
  multimodal: 'The row holds images, audio or video.',
  tools_unreadable: 'The tool definitions are there, but cannot be read as a list of objects.',
  template_kwargs_unreadable: 'The template arguments are there, but cannot be read as an object.',
  no_user_turn: 'No user turn with a text is left.',
  system_mid_dialogue:
    'A system turn stands in the middle of the dialogue, and the spec says that such rows are rejected.',
} as const

export type RejectReason = keyof typeof rejectReasons

/** A line of `rejects/<source>.jsonl`. */
export interface Reject {
  /** File within the source, as in a prompt's provenance. */
  file: string
  /** Row in the file, counted from 1: for JSONL the line number. */
  row: number
  /** Where the row begins, in bytes of the (decompressed) file. Text formats only. */
  byte?: number
  reason: RejectReason
  /** One sentence for people, with what was found. */
  message: string
  /** The beginning of the row, as far as it can be shown. */
  excerpt?: string
}
