import { type RejectReason, rejectReasons } from '../domain/reject.ts'

/** A row that can't become a prompt: why, and what was found. */
export class RowRejected extends Error {
  override readonly name = 'RowRejected'
  constructor(
    readonly reason: RejectReason,
    /** What was found, as the end of the sentence. */
    readonly found?: string,
  ) {
    super(found ? `${rejectReasons[reason]} Found: ${found}` : rejectReasons[reason])
  }
}

/** A value as it is shown in a message: JSON, shortened. */
export function shown(value: unknown): string {
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
