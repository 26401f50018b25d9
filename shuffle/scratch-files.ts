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
