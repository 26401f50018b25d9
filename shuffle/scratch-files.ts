import { closeSync, openSync, readSync } from 'node:fs'

/** A scratch file does not hold what was written to it. */
export class ScratchDamaged extends Error {
  override readonly name = 'ScratchDamaged'
  constructor(
    readonly path: string,
    readonly expectedBytes: number,
  ) {
    super(`${path} ends before byte ${expectedBytes}: delete the run's scratch folder and start again`)
  }
}

/** Opens a scratch file for the time of `work`. */
export function withScratchFile<T>(path: string, work: (file: ScratchFile) => T): T {
  const descriptor = openSync(path, 'r')
  try {
    return work({ path, descriptor })
  } finally {
    closeSync(descriptor)
  }
}

/** Files that are read from again and again, kept open: opening one costs as much as reading a hundred kilobytes. */
export class OpenScratchFiles {
  readonly #files = new Map<string, ScratchFile>()

  constructor(readonly mostOpen = 256) {}

  /** The file; the one that was not asked for the longest is closed where there are too many. */
  get(path: string): ScratchFile {
    const file = this.#files.get(path) ?? { path, descriptor: openSync(path, 'r') }
    this.#files.delete(path)
    this.#files.set(path, file)
    if (this.#files.size > this.mostOpen) this.#closeOldest()
    return file
  }

  close(): void {
    while (this.#files.size > 0) this.#closeOldest()
  }

  #closeOldest(): void {
    const [oldest] = this.#files
    if (!oldest) return
    closeSync(oldest[1].descriptor)
    this.#files.delete(oldest[0])
  }
}

export interface ScratchFile {
  readonly path: string
  readonly descriptor: number
}

/** Fills `target` from a position of the file. Throws `ScratchDamaged` when the file is too short. */
export function readExactly({ path, descriptor }: ScratchFile, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length; ) {
    const read = readSync(descriptor, target, done, target.length - done, position + done)
    if (read === 0) throw new ScratchDamaged(path, position + target.length)
    done += read
  }
}
