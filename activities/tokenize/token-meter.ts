import type { UnitFile } from './plan/plan-file.ts'

/** How far some units are; small enough to be a heartbeat's details. */
export interface TokenProgress {
  phase: 'tokenizing'
  units: number
  ofUnits: number
  tokens: number
  tokensPerSecond: number
  /** At the pace so far; left out before there is one. */
  etaSeconds?: number
}

/** Turns what happens into progress reports. Time is told by bytes: how many tokens there will be, nobody knows. */
export class TokenMeter {
  readonly #startedMs: number
  readonly #totalBytes: number
  #units = 0
  #unitsBytes = 0
  #bytes = 0
  #tokens = 0

  constructor(
    private readonly units: readonly UnitFile[],
    private readonly report: (progress: TokenProgress) => void,
    private readonly nowMs: () => number,
  ) {
    this.#startedMs = nowMs()
    this.#totalBytes = units.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#tell()
  }

  /** Bytes were read, as they are stored. */
  addBytes(bytes: number): void {
    this.#bytes += bytes
  }

  addTokens(tokens: number): void {
    this.#tokens += tokens
    this.#tell()
  }

  finish({ bytes }: UnitFile): void {
    this.#units++
    this.#unitsBytes += bytes
    // What was read more than once, or not at all, evens out here.
    this.#bytes = this.#unitsBytes
    this.#tell()
  }

  #tell(): void {
    const seconds = (this.nowMs() - this.#startedMs) / 1000
    this.report({
      ...{ phase: 'tokenizing', units: this.#units, ofUnits: this.units.length, tokens: this.#tokens },
      tokensPerSecond: seconds > 0 ? Math.round(this.#tokens / seconds) : 0,
      ...(this.#bytes > 0 && { etaSeconds: Math.round((seconds * (this.#totalBytes - this.#bytes)) / this.#bytes) }),
    })
  }
}
