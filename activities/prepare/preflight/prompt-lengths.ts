import type { Prompt } from '../../../domain/prompt.ts'
import type { TokenMethod } from '../token-count.ts'

/** Counts the tokens of whole prompts: with the template where the counter knows it. */
export interface PromptCounter {
  readonly method: TokenMethod
  counts(prompts: readonly Prompt[]): Promise<number[]>
}

export interface LengthStatistics {
  method: TokenMethod
  /** How many prompts were counted; they are a random part of all. */
  counted: number
  mean: number
  median: number
  p95: number
  max: number
  /** Counted prompts by length: from so many tokens on, below the next bound. */
  histogram: { from: number; prompts: number }[]
}

/** A prompt that leaves no room for an answer, or not as much as the spec asks for. */
export interface LongPrompt {
  promptId: string
  source: string
  file: string
  row: number
  tokens: number
}

export interface ContextFindings {
  contextTokens: number
  /** Prompts that the engine would refuse, and some of them. */
  tooLong: number
  tooLongExamples: LongPrompt[]
  /** Prompts that fit, but leave less room than `maxNewTokens`. */
  tight: number
}

export interface LengthOptions {
  readonly counter: PromptCounter
  /** How many prompts are counted for the statistics. */
  readonly sample: number
  /** Prompts that there will be; every nth of them is counted. */
  readonly contextTokens: number | undefined
  readonly maxNewTokens: number
}

const maxExamples = 20
const batchPrompts = 256

/** Measures prompts as they pass by. Only what could be too long, and a part of the rest, costs anything. */
export class PromptLengths {
  readonly #lengths: number[] = []
  readonly #waiting: { prompt: Prompt; isSampled: boolean }[] = []
  readonly #findings: ContextFindings | undefined
  #seen = 0

  constructor(readonly options: LengthOptions) {
    const { contextTokens } = options
    if (contextTokens !== undefined) this.#findings = { contextTokens, tooLong: 0, tooLongExamples: [], tight: 0 }
  }

  /** Looks at the lines of a shard; the final order is random, so its beginning is a fair part. */
  async addLines(lines: Uint8Array): Promise<void> {
    const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.length)
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(10, start)
      const isSampled = this.#seen++ < this.options.sample
      if (isSampled || this.#mayBeLong(end - start)) {
        this.#waiting.push({ prompt: JSON.parse(bytes.toString('utf8', start, end)) as Prompt, isSampled })
      }
      start = end + 1
    }
    if (this.#waiting.length >= batchPrompts) await this.#count()
  }

  async finish(): Promise<{ statistics: LengthStatistics; context: ContextFindings | undefined }> {
    await this.#count()
    return { statistics: statisticsOf(this.#lengths, this.options.counter.method), context: this.#findings }
  }

  /** No tokenizer makes more tokens of a text than it has bytes, and a line has more bytes than its texts. */
  #mayBeLong(lineBytes: number): boolean {
    const { contextTokens, maxNewTokens } = this.options
    return contextTokens !== undefined && lineBytes > contextTokens - maxNewTokens
  }

  async #count(): Promise<void> {
    for (let from = 0; from < this.#waiting.length; from += batchPrompts) {
      const some = this.#waiting.slice(from, from + batchPrompts)
      const counts = await this.options.counter.counts(some.map(({ prompt }) => prompt))
      some.forEach(({ prompt, isSampled }, n) => {
        const tokens = counts[n] ?? 0
        if (isSampled) this.#lengths.push(tokens)
        this.#judge(prompt, tokens)
      })
    }
    this.#waiting.length = 0
  }

  #judge({ promptId, source, provenance }: Prompt, tokens: number): void {
    const findings = this.#findings
    if (!findings) return
    const room = findings.contextTokens - tokens - 1
    if (room >= this.options.maxNewTokens) return
    if (room >= 1) {
      findings.tight++
      return
    }
    findings.tooLong++
    if (findings.tooLongExamples.length >= maxExamples) return
    findings.tooLongExamples.push({ promptId, source, file: provenance.file, row: provenance.row, tokens })
  }
}

function statisticsOf(lengths: number[], method: TokenMethod): LengthStatistics {
  const sorted = Uint32Array.from(lengths).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  const sum = sorted.reduce((total, length) => total + length, 0)
  return {
    method,
    counted: sorted.length,
    mean: sorted.length > 0 ? Math.round(sum / sorted.length) : 0,
    median: at(0.5),
    p95: at(0.95),
    max: at(1),
    histogram: histogramOf(sorted),
  }
}

/** Powers of two, from 16 tokens to the longest prompt. */
function histogramOf(sorted: Uint32Array): { from: number; prompts: number }[] {
  const bounds = [0]
  for (let bound = 16; bound <= (sorted.at(-1) ?? 0); bound *= 2) bounds.push(bound)
  return bounds.map((from, n) => {
    const to = bounds[n + 1] ?? Number.POSITIVE_INFINITY
    return { from, prompts: sorted.reduce((count, length) => count + (length >= from && length < to ? 1 : 0), 0) }
  })
}
