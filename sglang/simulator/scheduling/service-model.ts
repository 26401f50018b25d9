/** How fast an engine is. One decode step gives every running request a token. */
export interface ServiceModel {
  /** Decode step with nothing running: reading the weights (ms). */
  t0Ms: number
  /** More for each running request (ms). */
  aMs: number
  /** More for each token of context of the running requests (ns). */
  bNs: number
  /** Multiplies the whole step, to fit the model to an engine that was measured. */
  eta: number
  prefillTokensPerS: number
  /** Each forward pass of a prefill costs so much however short it is (ms). */
  prefillFixedMs: number
  /** Prompt tokens of one forward pass at most. */
  chunk: number
}

/** Prompt tokens that are prefilled together before decoding goes on. */
export const maxPrefillTokens = 16_384

const h200: ServiceModel = {
  t0Ms: 15.6,
  aMs: 0.08,
  bNs: 17,
  eta: 1,
  prefillTokensPerS: 11_200,
  prefillFixedMs: 15,
  chunk: 8_192,
}

/** A 27B model in bf16 on one GPU. */
export const serviceModels = {
  h200,
  /** Slowed down to about 1,180 output tokens per second with 37 requests running. */
  'h200-37': { ...h200, eta: 1.59 },
  /** Slowed down to about 1,180 output tokens per second with 72 requests running. */
  'h200-72': { ...h200, eta: 2.57 },
  h100: { ...h200, t0Ms: 21.6, aMs: 0.115, bNs: 24, prefillTokensPerS: 10_600 },
  a100: { ...h200, t0Ms: 35.3, aMs: 0.19, bNs: 41, prefillTokensPerS: 5_000 },
} satisfies Record<string, ServiceModel>

export type ServiceModelName = keyof typeof serviceModels

/** A step never takes nothing, or simulated time would stand still. */
const shortestStepMs = 1e-6

/** One decode step with `running` requests that have `contextTokens` together (ms). */
export function stepMs(model: ServiceModel, running: number, contextTokens: number): number {
  const step = (model.t0Ms + model.aMs * running + model.bNs * 1e-6 * contextTokens) * model.eta
  return Math.max(step, shortestStepMs)
}

/** `steps` decode steps in a row, the context of every request growing by a token with each (ms). */
export function stepsMs(model: ServiceModel, running: number, contextTokens: number, steps: number): number {
  const growth = ((model.bNs * 1e-6 * running * model.eta) / 2) * steps * (steps - 1)
  return stepMs(model, running, contextTokens) * steps + growth
}

/** Whole decode steps that fit into a time. */
export function stepsWithin(model: ServiceModel, running: number, contextTokens: number, elapsedMs: number): number {
  if (elapsedMs <= 0) return 0
  const first = stepMs(model, running, contextTokens)
  const half = (model.bNs * 1e-6 * running * model.eta) / 2
  const linear = first - half
  const root =
    half < 1e-12 ? elapsedMs / first : (Math.sqrt(linear * linear + 4 * half * elapsedMs) - linear) / (2 * half)
  let steps = Math.floor(root)
  // The root is rounded; the sum of the steps is what counts.
  while (stepsMs(model, running, contextTokens, steps + 1) <= elapsedMs) steps++
  while (steps > 0 && stepsMs(model, running, contextTokens, steps) > elapsedMs) steps--
  return steps
}

/** Prefill of so many prompt tokens that are not cached (ms). */
export function prefillMs(model: ServiceModel, tokens: number): number {
  const passes = Math.max(1, Math.ceil(tokens / model.chunk))
  return passes * model.prefillFixedMs + (tokens / model.prefillTokensPerS) * 1000
}

/** The same engine, everything taking `factor` times as long and each forward pass `sleepMs` more. */
export function slowed(model: ServiceModel, factor: number, sleepMs: number): ServiceModel {
  return {
    ...model,
    t0Ms: model.t0Ms + sleepMs / (model.eta * factor),
    eta: model.eta * factor,
    prefillFixedMs: model.prefillFixedMs * factor + sleepMs,
    prefillTokensPerS: model.prefillTokensPerS / factor,
  }
}
