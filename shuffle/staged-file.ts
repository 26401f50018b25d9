import { closeSync, openSync, writeSync } from 'node:fs'

const stageBytes = 1024 * 1024

/** One for all files of a thread: each write fills it and empties it again. */
const stage = Buffer.allocUnsafeSlow(stageBytes)

/** Writes a scratch file of many small pieces by few calls, without holding all of it. */
export class StagedFile {
  readonly #descriptor: number
  #staged = 0

  constructor(path: string) {
    this.#descriptor = openSync(path, 'w')
  }

  write(bytes: Uint8Array): void {
    if (this.#staged + bytes.length > stageBytes) this.#flush()
    if (bytes.length > stageBytes) {
      writeAll(this.#descriptor, bytes)
      return
    }
    stage.set(bytes, this.#staged)
    this.#staged += bytes.length
  }

  close(): void {
    this.#flush()
    closeSync(this.#descriptor)
  }

  #flush(): void {
    writeAll(this.#descriptor, stage.subarray(0, this.#staged))
    this.#staged = 0
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
}
