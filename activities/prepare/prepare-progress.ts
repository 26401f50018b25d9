import { isReadByLibrary, pieceBytes } from '../../formats/pieces.ts'
import type { Batch } from './batches.ts'
import type { NumberedFile } from './source-list.ts'

export type PreparePhase = 'listing' | 'reading' | 'ordering' | 'comparing' | 'writing'

/** How far prepare is; small enough to be a heartbeat's details. */
export interface PrepareProgress {
  phase: PreparePhase
  /** Of this phase: bytes of source files while reading, else steps. */
  done: number
  /** 0 where it is not known. */
  total: number
  rowsRead: number
  /** Until the phase is over, at its pace so far. */
  etaSeconds: number | undefined
}

/** Turns what happens into progress reports. */
export class ProgressMeter {
  #phase: PreparePhase = 'listing'
  #done = 0
  #total = 0
  #rowsRead = 0
  #startedMs = 0

  constructor(
    readonly report: (progress: PrepareProgress) => void,
    readonly nowMs: () => number,
  ) {}

  begin(phase: PreparePhase, total: number): void {
    this.#phase = phase
    this.#done = 0
    this.#total = total
    this.#startedMs = this.nowMs()
    this.#tell()
  }

  advance(by: number, rows = 0): void {
    this.#done += by
    this.#rowsRead += rows
    this.#tell()
  }

  #tell(): void {
    const elapsed = (this.nowMs() - this.#startedMs) / 1000
    const isKnown = this.#done > 0 && this.#total > 0
    this.report({
      phase: this.#phase,
      done: this.#done,
      total: this.#total,
      rowsRead: this.#rowsRead,
      etaSeconds: isKnown ? Math.round((elapsed * Math.max(0, this.#total - this.#done)) / this.#done) : undefined,
    })
  }
}

/** The files with their readers counted: compressed or not, it is bytes of the source that are told. */
export function counted(files: readonly NumberedFile[], onBytes: (bytes: number) => void): NumberedFile[] {
  return files.map((file) => ({
    ...file,
    async open() {
      const reader = await file.open()
      return {
        close: () => reader.close(),
        async read(target) {
          const bytes = await reader.read(target)
          onBytes(bytes)
          return bytes
        },
      }
    },
  }))
}

/** Bytes of a batch that no counted reader has seen, since threads read them. */
export function unseenBytes({ pieces }: Batch): number {
  const unseen = pieces.filter(({ piece }) => isReadByLibrary(piece))
  return unseen.reduce((sum, { piece }) => sum + pieceBytes(piece), 0)
}
