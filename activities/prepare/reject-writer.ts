import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Reject } from '../../domain/reject.ts'

const flushChars = 1024 * 1024

/** Appends the rejects of a batch to its scratch file, a line each; bounded memory even when every row is bad. */
export class RejectWriter {
  #descriptor: number | undefined
  #waiting: string[] = []
  #waitingChars = 0

  constructor(
    readonly folder: string,
    readonly name: string,
  ) {}

  /** Gives the bytes that the line takes. */
  add(reject: Reject): number {
    const line = `${JSON.stringify(reject)}\n`
    this.#waiting.push(line)
    this.#waitingChars += line.length
    if (this.#waitingChars > flushChars) this.#flush()
    return Buffer.byteLength(line)
  }

  close(): void {
    this.#flush()
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #flush(): void {
    if (this.#waiting.length === 0) return
    this.#descriptor ??= openSync(rejectsPath(this.folder, this.name), 'w')
    const bytes = Buffer.from(this.#waiting.join(''))
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done)
    this.#waiting = []
    this.#waitingChars = 0
  }
}

export function rejectsPath(folder: string, batch: string): string {
  return join(folder, `${batch}.rejects`)
}
