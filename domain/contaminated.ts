/** A line of `contaminated/<source>.jsonl`: a prompt that was left out since it shares text with evaluation data. */
export interface Contaminated {
  promptId: string
  file: string
  row: number
  /** The words that both have, as they were compared. */
  words: string
  evaluation: { file: string; row: number }
}
