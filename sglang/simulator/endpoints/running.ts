import type { Engine, GenerationRequest } from '../engine/engine.ts'
import { GivenUp } from '../engine/errors.ts'
import type { Generation } from '../engine/generation.ts'
import type { Sampling } from '../engine/sampling.ts'
import type { Call } from '../http/call.ts'

/** One prompt that passed validation. */
export interface Item {
  rid: string
  promptIds: number[]
  sampling: Sampling
}

/** A stream that fell behind by more tokens than this gets them in one chunk. */
const longestBacklog = 64

/** Checks a request in SGLang's order: the id is taken first, and up to 0.5.13 whatever is refused then keeps it for ever. */
export function withRid<Checked>(engine: Engine, rid: string, check: () => Checked): Checked {
  engine.refuseDuplicate(rid)
  try {
    return check()
  } catch (error) {
    engine.leak(rid)
    throw error
  }
}

/** Runs a prompt to its end. Throws `GivenUp` where the scheduler gave it up with a status. */
export function runWhole(engine: Engine, item: Item, call: Call): Promise<Generation> {
  return new Promise((resolve, reject) => {
    const onEnd = (generation: Generation) => {
      const failure = givenUp(engine, generation)
      if (failure) reject(failure)
      else resolve(generation)
    }
    engine.generate({ ...item, ...replanning(call), onEnd })
    if (!call.hooks.ignoresDisconnect) call.onGone('whole', () => engine.abort(item.rid))
  })
}

/**
 * Runs a prompt and calls back as its tokens come, one by one where the client keeps up; resolves after the last. `onTokens`
 * is not called for the end.
 */
export function runStream(
  engine: Engine,
  item: Item,
  call: Call,
  onTokens: (generation: Generation, tokens: number) => void,
): Promise<Generation> {
  return new Promise((resolve) => {
    let sent = 0
    const interval = item.sampling.streamInterval
    const feed = (generation: Generation, tokens: number) => {
      const next = tokens - sent > longestBacklog ? tokens : sent + interval
      for (let at = next; at <= tokens; at += interval) {
        sent = at
        onTokens(generation, at)
      }
    }
    const onEnd = (generation: Generation) => {
      // The last token comes with the end.
      feed(generation, generation.job.written - 1)
      resolve(generation)
    }
    engine.generate({ ...item, ...replanning(call), onTokens: feed, onEnd })
    // From 0.5.14 to 0.5.19 the request of a stream whose client left went on to its last token.
    const isZombie = call.hooks.ignoresDisconnect || engine.options.compat === '0.5.14'
    if (!isZombie) call.onGone('stream', () => engine.abort(item.rid))
  })
}

/** The failure that a request ended with, where it is one for HTTP. */
export function givenUp({ options }: Engine, generation: Generation): GivenUp | undefined {
  const finish = generation.finishReason()
  if (finish?.type !== 'abort' || !finish.status_code) return undefined
  const isRaised = options.compat === '0.5.23' ? finish.status_code >= 400 : raisedStatuses.has(finish.status_code)
  return isRaised ? new GivenUp(finish.message, finish.status_code) : undefined
}

/** Older versions make no other status of a finish reason the status of the reply. */
const raisedStatuses = new Set([400, 500, 503])

function replanning({ hooks }: Call): Pick<GenerationRequest, 'replan'> {
  return hooks.plan ? { replan: hooks.plan } : {}
}
