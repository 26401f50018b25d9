import { Job } from '../scheduling/job.ts'
import type { AnswerRequest, AnswerWriter, Written } from '../text/answer.ts'
import type { Sampling } from './sampling.ts'

export type FinishReason =
  | { type: 'stop'; matched: number | string }
  | { type: 'length'; length: number }
  | { type: 'abort'; message: string; status_code?: number | null; err_type?: string | null }

/** What a request will write, decided when it arrives. */
export interface Plan {
  answer: AnswerRequest
  /** Tokens with the end-of-turn, as the engine counts them. */
  tokens: number
  finish: FinishReason
  /** Text after which it stops; the text is cut there unless asked otherwise. */
  cutText?: number
  /** Instead of an answer made of words. */
  instead?: Written
}

/** One request on its way through the engine. */
export class Generation {
  readonly job: Job
  readonly receivedMs = Date.now()
  finishedMs = 0
  #written: (Written & { reasoning: number }) | undefined
  #text = ''
  #textTokens = 0

  constructor(
    readonly rid: string,
    readonly promptIds: readonly number[],
    readonly cachedTokens: number,
    readonly sampling: Sampling,
    readonly plan: Plan,
    readonly writer: AnswerWriter,
    readonly onEnd: (generation: Generation) => void,
  ) {
    const most = sampling.maxNewTokens ?? plan.tokens
    this.job = new Job(promptIds.length, plan.tokens, Math.max(most, plan.tokens), cachedTokens, () => {
      this.finishedMs = Date.now()
      onEnd(this)
    })
  }

  get promptTokens(): number {
    return this.promptIds.length
  }

  /** The first `tokens` output ids. */
  ids(tokens: number): number[] {
    const { ids } = this.#answer()
    if (tokens < ids.length) return ids.slice(0, tokens)
    return this.endsTurn && tokens === this.plan.tokens ? [...ids, this.writer.tokenizer.eosId] : ids
  }

  /** The text of the first `tokens` output ids; asked for in growing order it costs no more than once. */
  text(tokens: number): string {
    const { pieces } = this.#answer()
    if (tokens < this.#textTokens) {
      this.#text = ''
      this.#textTokens = 0
    }
    const isWhole = this.#textTokens === 0 && tokens >= pieces.length
    this.#text += (isWhole ? pieces : pieces.slice(this.#textTokens, tokens)).join('')
    this.#textTokens = Math.min(tokens, pieces.length)
    const { cutText } = this.plan
    return cutText === undefined ? this.#text : this.#text.slice(0, cutText)
  }

  /** How many of the first `tokens` are thought. */
  reasoningTokens(tokens: number): number {
    return Math.min(tokens, this.#answer().reasoning)
  }

  /** Null for what was written before the end. */
  finishReasonAt(tokens: number): FinishReason | null {
    return tokens < this.job.written ? null : this.finishReason()
  }

  /** Null while it is being written. */
  finishReason(): FinishReason | null {
    switch (this.job.ending) {
      case undefined:
        return null
      case 'done':
        return this.plan.finish
      case 'abortedRunning':
        return { type: 'abort', message: 'Aborted', status_code: null, err_type: null }
      case 'abortedWaiting':
        return { type: 'abort', message: 'Abort in waiting queue' }
      case 'queueFull':
        return { type: 'abort', message: 'The request queue is full.', status_code: 503 }
      case 'outOfMemory':
        return {
          type: 'abort',
          message:
            'Out of memory even after retracting all other requests in the decode batch. Aborting the last request.',
          status_code: 500,
          err_type: 'InternalServerError',
        }
    }
  }

  /** Whether it ends with the end-of-turn token, which is among the ids and not in the text. */
  get endsTurn(): boolean {
    const { finish } = this.plan
    return finish.type === 'stop' && finish.matched === this.writer.tokenizer.eosId
  }

  #answer(): Written & { reasoning: number } {
    const textTokens = this.plan.tokens - (this.endsTurn ? 1 : 0)
    this.#written ??= this.plan.instead
      ? { ...this.plan.instead, reasoning: 0 }
      : this.writer.write(this.plan.answer, textTokens)
    return this.#written
  }
}
