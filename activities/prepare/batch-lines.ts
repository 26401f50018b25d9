import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readExactly, withScratchFile } from '../../shuffle/scratch-files.ts'

/** What is listed about rows that did not become prompts, in files beside the spills of their batch. */
export type ListKind = 'rejects' | 'contaminated'

const flushChars = 1024 * 1024

/** Appends lines about a batch to its scratch file; bounded memory even when it is about every row. */
export class BatchLines {
  #descriptor: number | undefined
  #waiting: string[] = []
  #waitingChars = 0

  constructor(readonly path: string) {}

  /** Gives the bytes that the line takes. */
  add(value: unknown): number {
    const line = `${JSON.stringify(value)}\n`
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
    this.#descriptor ??= openSync(this.path, 'w')
    const bytes = Buffer.from(this.#waiting.join(''))
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done)
    this.#waiting = []
    this.#waitingChars = 0
  }
}

export function listPath(folder: string, batch: string, kind: ListKind): string {
  return join(folder, `${batch}.${kind}`)
}

const chunkBytes = 1024 * 1024

/** A part of a batch's lines. */
export function* lineChunks(path: string, start: number, end: number): Generator<Uint8Array> {
  for (let at = start; at < end; at += chunkBytes) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end - at))
    withScratchFile(path, (file) => readExactly(file, chunk, at))
    yield chunk
  }
}
