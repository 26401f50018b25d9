import type { Plan } from '../../../domain/plan.ts'
import type { Prompt } from '../../../domain/prompt.ts'
import type { Reject } from '../../../domain/reject.ts'
import type { Spec } from '../../../domain/spec.ts'
import { turnEnds } from '../../../domain/turns.ts'
import { type PrepareDeps, type PrepareWatch, prepareOnHost } from '../prepare-on-host.ts'
import { estimateRun, type RunAssumptions, type RunEstimate } from './estimate-run.ts'
import { type FirstRequest, firstRequest } from './prompt-counters.ts'
import { type ContextFindings, type LengthStatistics, type PromptCounter, PromptLengths } from './prompt-lengths.ts'

/** What a run would do, found out without any GPU. */
export interface PreflightReport {
  plan: Plan
  lengths: LengthStatistics
  /** Left out when nobody said how long the context is. */
  context?: ContextFindings
  estimate: RunEstimate
  /** Some rejects of each source and reason. */
  rejects: { source: string; reject: Reject }[]
  samples: PromptSample[]
}

/** A prompt of the run and what is sent for its first answer. */
export interface PromptSample {
  prompt: Prompt
  request: FirstRequest
  /** The text that the model reads, where a server could be asked. */
  rendered?: string
}

export interface PreflightOptions {
  readonly counter: PromptCounter
  /** Tokens that the engines' context holds, where it is known. */
  readonly contextTokens?: number
  readonly assumptions: RunAssumptions
  /** Prompts to show. */
  readonly samples: number
  /** Prompts to count for the statistics. */
  readonly countedPrompts: number
  render?(request: FirstRequest): Promise<string>
  /** Takes the lines of a source's rejects; left out: they are only counted and some shown. */
  putRejects?(source: string, lines: AsyncIterable<Uint8Array>): Promise<void>
}

const shownRejectsPerReason = 3

/** Reads the sources as prepare will, and reports what becomes of them; the plan is the one that the run will have. */
export async function preflight(
  spec: Spec,
  specHash: string,
  options: PreflightOptions,
  watch: PrepareWatch,
  deps: PrepareDeps,
): Promise<PreflightReport> {
  const { counter, contextTokens, samples, countedPrompts } = options
  const maxNewTokens = spec.sampling.maxNewTokens
  const lengths = new PromptLengths({ counter, sample: countedPrompts, contextTokens, maxNewTokens })
  const first = new FirstPrompts(samples)
  const rejects: PreflightReport['rejects'] = []
  let answers = 0
  let last: Promise<unknown> = Promise.resolve()

  const plan = await prepareOnHost(
    spec,
    specHash,
    {
      // One after the other, in order: the first prompts are those that the run sends first.
      putShard: (shard, lines) => {
        const looked = last.then(async () => {
          first.add(shard, lines)
          answers += countAnswers(lines)
          await lengths.addLines(lines)
        })
        last = looked
        return looked
      },
      putRejects: async (source, lines) => {
        const chosen = new ShownRejects(source, rejects)
        const watched = chosen.watch(lines)
        if (options.putRejects) await options.putRejects(source, watched)
        else for await (const _ of watched);
      },
      putContaminated: async (_source, lines) => {
        for await (const _ of lines);
      },
    },
    watch,
    deps,
  )
  const { statistics, context } = await lengths.finish()
  const inputTokens = statistics.mean * plan.prompts
  return {
    plan,
    lengths: statistics,
    ...(context && { context }),
    estimate: estimateRun(answers, inputTokens, options.assumptions),
    rejects,
    samples: await Promise.all(first.prompts.map((prompt) => sampleOf(prompt, spec, options))),
  }
}

async function sampleOf(prompt: Prompt, spec: Spec, { render }: PreflightOptions): Promise<PromptSample> {
  const request = firstRequest(prompt, spec)
  return { prompt, request, ...(render && { rendered: await render(request) }) }
}

/** The first prompts of the run. */
class FirstPrompts {
  readonly prompts: Prompt[] = []

  constructor(readonly wanted: number) {}

  add(_shard: number, lines: Uint8Array): void {
    if (this.prompts.length >= this.wanted) return
    for (const line of Buffer.from(lines).toString('utf8').split('\n')) {
      if (line === '' || this.prompts.length >= this.wanted) return
      this.prompts.push(JSON.parse(line) as Prompt)
    }
  }
}

const userTurn = Buffer.from('{"role":"user"')
const toolTurn = Buffer.from('{"role":"tool"')

/** How many answers the prompts of a shard ask for: one a user turn, and one a run of tool results. */
function countAnswers(lines: Uint8Array): number {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.length)
  // Quotes within a text are escaped, so only turns can look like this; tool results have to be looked at as a whole.
  if (!bytes.includes(toolTurn)) return occurrences(bytes, userTurn)
  const prompts = bytes.toString('utf8').split('\n').filter(Boolean)
  return prompts.reduce((sum, line) => sum + turnEnds((JSON.parse(line) as Prompt).messages).length, 0)
}

function occurrences(bytes: Buffer, wanted: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + wanted.length)) count++
  return count
}

/** Picks some rejects of each reason from the lines that pass by. */
class ShownRejects {
  readonly #counts = new Map<string, number>()
  readonly #decoder = new TextDecoder()
  #isEnough = false
  #rest = ''

  constructor(
    readonly source: string,
    readonly rejects: PreflightReport['rejects'],
  ) {}

  async *watch(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of lines) {
      if (!this.#isEnough) this.#look(this.#decoder.decode(chunk, { stream: true }))
      yield chunk
    }
  }

  #look(text: string): void {
    const parts = (this.#rest + text).split('\n')
    this.#rest = parts.pop() ?? ''
    for (const line of parts) {
      const reject = JSON.parse(line) as Reject
      const count = this.#counts.get(reject.reason) ?? 0
      this.#counts.set(reject.reason, count + 1)
      if (count < shownRejectsPerReason) this.rejects.push({ source: this.source, reject })
    }
    // Rare reasons may come late, but a source of millions of bad rows is not parsed to its end for them.
    this.#isEnough = [...this.#counts.values()].reduce((sum, count) => sum + count, 0) > 100_000
  }
}
