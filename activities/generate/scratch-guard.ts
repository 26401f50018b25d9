import { statfs } from 'node:fs/promises'

export interface ScratchGuardOptions {
  /** Folder on the scratch disk. */
  folder: string
  /** With less than this free, nothing new is started. */
  minFreeBytes: number
}

/** Watches the scratch disk, so that a store that is down for long fills it no further than is safe. */
export class ScratchGuard {
  #freeBytes = Number.POSITIVE_INFINITY
  #isLow = false

  constructor(private readonly options: ScratchGuardOptions) {}

  get isLow(): boolean {
    return this.#isLow
  }

  /** For people. */
  get why(): string {
    const { folder, minFreeBytes } = this.options
    return `the scratch disk is low: ${mebibytes(this.#freeBytes)} MiB free at ${folder}, ${mebibytes(minFreeBytes)} are kept`
  }

  /** Looks at the disk. Low ends only when a quarter more than the minimum is free, so that it does not flicker. */
  async look(): Promise<void> {
    const { folder, minFreeBytes } = this.options
    const { bavail, bsize } = await statfs(folder)
    this.#freeBytes = bavail * bsize
    this.#isLow = this.#freeBytes < (this.#isLow ? 1.25 : 1) * minFreeBytes
  }
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
