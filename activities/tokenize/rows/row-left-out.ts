import { type LeftOutReason, leftOut } from '../../../domain/left-out.ts'

/** A row that does not become tokens: why, and what was found. */
export class RowLeftOut extends Error {
  override readonly name = 'RowLeftOut'
  constructor(
    readonly reason: LeftOutReason,
    readonly found: string,
  ) {
    super(`${leftOut[reason].meaning} Found: ${found}`)
  }
}
