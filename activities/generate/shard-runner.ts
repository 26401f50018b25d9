import type { Prompt } from '../../domain/prompt.ts'
import type { PromptEnd } from './complete-prompt.ts'
import type { Journal, JournalRow } from './journal.ts'
import type { Permits } from './permits.ts'
import type { StoredPrompt } from './shard-prompts.ts'

export interface ShardRunnerOptions {
  /** Prompts that have no outcome yet, in plan order. */
  unfinished: Pick<StoredPrompt, 'read'>[]
  /** Place of the shard among others on the engine: the lower goes first. */
  order: number
  permits: Permits
  journal: Pick<Journal, 'append' | 'flush'>
  ask: (prompt: Prompt) => Promise<PromptEnd>
  /** Called once, when the last prompt has been started. */
  onExhausted: () => void
}

/** What one dispatch did to its shard. */
export interface ShardCounts {
  prompts: number
  samples: number
  failures: number
  /** Left for another engine. */
  deferred: number
  /** Not started, because the shard was released. */
  unstarted: number
  /** Being asked right now. */
  inFlight: number
  inputTokens: number
  outputTokens: number
}

/** Runs the prompts of a shard as permits allow, and journals each as it ends. */
export class ShardRunner {
  readonly counts: ShardCounts
  readonly #options: Omit<ShardRunnerOptions, 'unfinished'>
  readonly #queue: Pick<StoredPrompt, 'read'>[]
  #failure: { error: unknown } | undefined
  #leave = () => {}
  #settle: () => void = () => {}

  constructor({ unfinished, ...options }: ShardRunnerOptions) {
    this.#options = options
    this.#queue = [...unfinished]
    this.counts = {
      ...{ prompts: unfinished.length, samples: 0, failures: 0, deferred: 0, unstarted: 0 },
      ...{ inFlight: 0, inputTokens: 0, outputTokens: 0 },
    }
  }

  /**
   * Resolves when every prompt has ended, or, after a release, those that had been started. Rejects with the first error
   * that is not a prompt's own, once nothing is in flight any more.
   */
  async run(): Promise<ShardCounts> {
    const settled = new Promise<void>((resolve) => {
      this.#settle = resolve
    })
    if (this.#queue.length === 0) this.#options.onExhausted()
    this.#leave = this.#options.permits.enlist({ order: this.#options.order, startNext: () => this.#startNext() })
    this.#settleWhenIdle()
    await settled
    await this.#options.journal.flush()
    if (this.#failure) throw this.#failure.error
    return this.counts
  }

  /** Starts no further prompt; what is in flight may end. */
  release(): void {
    this.counts.unstarted += this.#queue.length
    this.#queue.length = 0
    this.#leave()
    this.#settleWhenIdle()
  }

  #startNext(): Promise<void> | undefined {
    const stored = this.#queue.shift()
    if (!stored) return undefined
    this.counts.inFlight += 1
    const ended = this.#complete(stored.read())
    if (this.#queue.length === 0) this.#options.onExhausted()
    return ended
  }

  async #complete(prompt: Prompt): Promise<void> {
    try {
      this.#record(await this.#options.ask(prompt))
    } catch (error) {
      this.#failure ??= { error }
      this.release()
    } finally {
      this.counts.inFlight -= 1
      this.#settleWhenIdle()
    }
  }

  #record(end: PromptEnd): void {
    const row = rowOf(end)
    this.#options.journal.append(row)
    this.counts.inputTokens += row.inputTokens
    this.counts.outputTokens += row.outputTokens
    if (end.kind === 'sample') this.counts.samples += 1
    else if (end.kind === 'failure') this.counts.failures += 1
    else this.counts.deferred += 1
  }

  #settleWhenIdle(): void {
    if (this.#queue.length === 0 && this.counts.inFlight === 0) this.#settle()
  }
}

/** The journal row of a prompt's end. */
export function rowOf(end: PromptEnd): JournalRow {
  switch (end.kind) {
    case 'sample': {
      const { promptId, usage, truncated } = end.sample
      const tokens = { inputTokens: usage.promptTokens, outputTokens: usage.completionTokens }
      return { kind: 'S', promptId, ...tokens, isTruncated: truncated, json: JSON.stringify(end.sample) }
    }
    case 'failure': {
      const { promptId } = end.failure
      return {
        kind: 'F',
        promptId,
        inputTokens: 0,
        outputTokens: 0,
        isTruncated: false,
        json: JSON.stringify(end.failure),
      }
    }
    case 'deferred': {
      const { promptId, attempts } = end
      const json = JSON.stringify({ promptId, attempts })
      return { kind: 'A', promptId, inputTokens: 0, outputTokens: 0, isTruncated: false, json }
    }
  }
}
