import { randomUUID } from 'node:crypto'
import { Unhandled } from '../engine/errors.ts'

/** A request id of the server's own making. */
export const newRid = (): string => randomUUID().replaceAll('-', '')

/** Throws `Unhandled` for what SGLang takes in and then can't write into its answer. */
export function refuseUnwritable(text: string): void {
  if (/\p{Surrogate}/u.test(text)) throw new Unhandled('surrogates not allowed')
}
