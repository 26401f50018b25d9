import { ApplicationFailure, defineQuery, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow'
import type { TokenizePlan } from '../activities/tokenize/plan/plan-file.ts'
import type { TokenizeActivities, UnitsDone } from '../activities/tokenize/tokenize-activities.ts'
import { dataQueueOf, failureTypes } from '../domain/dispatch.ts'
import {
  InvalidTokenize,
  parseTokenizeRequest,
  type TokenizeRequest,
  type TokenizeResult,
} from '../domain/tokenize-request.ts'

/** How far the stage is. */
export interface TokenizeProgress {
  phase: 'planning' | 'tokenizing' | 'merging' | 'done'
  units: number
  ofUnits: number
  rows: number
  tokens: number
  tokensPerSecond: number
  /** Until all units are tokenized, at the pace so far. */
  etaSeconds?: number
}

export const tokenizeProgress = defineQuery<TokenizeProgress>('progress')

/** Activities that the units are spread over at most: history grows with these, and each worker takes the next one. */
const mostActivities = 200

/**
 * Tokenizes a run's samples or a dataset's rows, merges them with the current version of the tokenized dataset, and
 * publishes that as one guarded step. When another one was faster it starts over from what is current then.
 */
export async function tokenizeAndMerge(input: unknown): Promise<TokenizeResult> {
  const request = parsed(input)
  const progress = new ProgressKeeper()
  setHandler(tokenizeProgress, () => progress.now)
  for (;;) {
    const plan = await activities(request).planTokenize(request)
    if (plan.madeBefore !== undefined)
      return await described(request, plan, plan.base?.version ?? plan.madeBefore, false)
    await tokenizeAll(request, plan, progress)
    progress.now.phase = 'merging'
    const made = await activities(request).makeTokenVersion(plan).catch(ifUnitsMissing)
    // Units that turned out damaged lost their record, and are made again.
    if (made === 'again') continue
    if (!made) return await described(request, plan, plan.base?.version ?? 0, false)
    if (!(await activities(request).publishTokenVersion({ plan, made }))) continue
    await activities(request).forgetUnits(plan)
    progress.now.phase = 'done'
    return await described(request, plan, made.version, true)
  }
}

async function tokenizeAll(request: TokenizeRequest, plan: TokenizePlan, progress: ProgressKeeper): Promise<void> {
  progress.begin(plan.units)
  const count = Math.max(1, Math.ceil(plan.units / mostActivities))
  const parts = Array.from({ length: Math.ceil(plan.units / count) }, (_, n) => n * count)
  await Promise.all(
    parts.map(async (first) => progress.add(await activities(request).tokenizeUnits({ plan, first, count }))),
  )
}

async function described(
  request: TokenizeRequest,
  plan: TokenizePlan,
  version: number,
  changed: boolean,
): Promise<TokenizeResult> {
  return await activities(request).describeTokens({ plan, version, changed })
}

function ifUnitsMissing(error: unknown): 'again' {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof ApplicationFailure && cause.type === failureTypes.unitsMissing) return 'again'
  throw error
}

/** Hours of reading and writing that heartbeat; a retry redoes at most a file. What is wrong with the data is not retried. */
function activities({ heartbeatSeconds }: TokenizeRequest) {
  return proxyActivities<TokenizeActivities>({
    taskQueue: dataQueueOf(workflowInfo().taskQueue),
    startToCloseTimeout: '7 days',
    heartbeatTimeout: heartbeatSeconds * 1000,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  })
}

class ProgressKeeper {
  readonly now: TokenizeProgress = {
    ...{ phase: 'planning', units: 0, ofUnits: 0, rows: 0, tokens: 0, tokensPerSecond: 0 },
  }
  #startedMs = 0

  begin(units: number): void {
    this.#startedMs = Date.now()
    Object.assign(this.now, { phase: 'tokenizing', units: 0, ofUnits: units, rows: 0, tokens: 0 })
  }

  add({ units, rows, tokens }: UnitsDone): void {
    const { now } = this
    now.units += units
    now.rows += rows
    now.tokens += tokens
    const seconds = (Date.now() - this.#startedMs) / 1000
    if (seconds <= 0) return
    now.tokensPerSecond = Math.round(now.tokens / seconds)
    now.etaSeconds = Math.round((seconds * (now.ofUnits - now.units)) / now.units)
  }
}

function parsed(input: unknown): TokenizeRequest {
  try {
    return parseTokenizeRequest(input)
  } catch (error) {
    if (!(error instanceof InvalidTokenize)) throw error
    throw ApplicationFailure.nonRetryable(error.message, failureTypes.invalidTokenize, error.problems)
  }
}
