import type { FaultSpec } from './faults/triggers.ts'
import type { LengthDistribution } from './scheduling/lengths.ts'
import { type ServiceModel, type ServiceModelName, serviceModels } from './scheduling/service-model.ts'
import { StubTokenizer } from './text/stub-tokenizer.ts'
import type { SimTokenizer } from './text/tokenizer.ts'

/** SGLang versions whose behaviour differs for a client. */
export type Compat = '0.5.12' | '0.5.14' | '0.5.23'

/** Times of the HTTP server itself, in real milliseconds whatever the time scale. */
export interface EdgeTimes {
  /** `/health` generates a token and looks for it so often. */
  healthMs: number
  /** `/health` gives up after so long. */
  healthTimeoutMs: number
  /** An idle connection is closed. */
  idleMs: number
  /** How often a plain request is checked for a client that left. */
  disconnectPollMs: number
  /** From a stream's client leaving to its request being given up. */
  streamDisconnectMs: number
  /** After SIGTERM it is looked so often whether all requests are done. */
  drainPollMs: number
}

export interface SimulatedEngineOptions {
  /** 0 takes a free one. */
  port?: number
  host?: string
  /** The served name. */
  modelId?: string
  /** What the model was loaded from; the served name by default. */
  modelPath?: string
  weightVersion?: string
  compat?: Compat
  /** Version that the server gives; `compat` by default. */
  version?: string
  /** Requests that run at a time. */
  cap?: number
  /** Requests that wait at most. Unlimited by default. */
  maxQueued?: number
  contextLength?: number
  /** Tokens of context that all running requests have room for. */
  kvTokens?: number
  /** A preset's name, or figures that replace those of `h200-72`. */
  serviceModel?: ServiceModelName | Partial<ServiceModel>
  /** Real time per simulated time: 1 is real time, 0.01 a hundred times faster, 0 answers at once. */
  timeScale?: number
  lengths?: Partial<LengthDistribution>
  seed?: number
  tokenizer?: SimTokenizer
  apiKey?: string
  adminApiKey?: string
  /** Whether the chat endpoint takes the thinking out of the content. */
  reasoningParser?: boolean
  /** `asked`: thinks where the prompt switches it on; `always`: unless the prompt switches it off. */
  thinking?: 'asked' | 'always'
  /** `/metrics` answers. */
  metrics?: boolean
  /** The OpenAI endpoints tell how many prompt tokens were cached. */
  cacheReport?: boolean
  /** Prefixes are cached in units of so many tokens; 0 switches the cache off. */
  cachePageTokens?: number
  /** Prefixes that the cache remembers, in units. */
  cachePages?: number
  /** The port stays closed for so long (real ms). */
  loadMs?: number
  /** `/health` says 503 for so long after the port opened (real ms). */
  warmUpMs?: number
  edge?: Partial<EdgeTimes>
  /** Faults that are set from the start. */
  faults?: FaultSpec[]
  /** Called when a fault ends the engine's process. */
  onDeath?: () => void
}

/** All options with their defaults. */
export type ResolvedOptions = Omit<
  Required<SimulatedEngineOptions>,
  'serviceModel' | 'lengths' | 'edge' | 'apiKey' | 'adminApiKey' | 'faults' | 'onDeath'
> & {
  serviceModel: ServiceModel
  lengths: LengthDistribution
  edge: EdgeTimes
  apiKey: string | undefined
  adminApiKey: string | undefined
}

export function resolveOptions(options: SimulatedEngineOptions): ResolvedOptions {
  const {
    modelId = 'simulated',
    compat = '0.5.12',
    contextLength = 32_768,
    cap = 72,
    serviceModel = 'h200-72',
    timeScale = 1,
  } = options
  if (!(timeScale >= 0)) throw new RangeError(`timeScale must be 0 or more, got ${timeScale}.`)
  if (!(Number.isInteger(cap) && cap > 0)) throw new RangeError(`cap must be a positive whole number, got ${cap}.`)
  return {
    port: options.port ?? 0,
    host: options.host ?? '127.0.0.1',
    modelId,
    modelPath: options.modelPath ?? modelId,
    weightVersion: options.weightVersion ?? 'default',
    compat,
    version: options.version ?? compat,
    cap,
    maxQueued: options.maxQueued ?? Number.POSITIVE_INFINITY,
    contextLength,
    kvTokens: options.kvTokens ?? Math.max(600_000, contextLength),
    serviceModel:
      typeof serviceModel === 'string' ? serviceModels[serviceModel] : { ...serviceModels['h200-72'], ...serviceModel },
    timeScale,
    lengths: { meanTokens: 2_712, sigma: 0.8, maxTokens: Number.POSITIVE_INFINITY, ...options.lengths },
    seed: options.seed ?? 0,
    tokenizer: options.tokenizer ?? new StubTokenizer(),
    apiKey: options.apiKey,
    adminApiKey: options.adminApiKey,
    reasoningParser: options.reasoningParser ?? false,
    thinking: options.thinking ?? 'asked',
    metrics: options.metrics ?? false,
    cacheReport: options.cacheReport ?? false,
    cachePageTokens: options.cachePageTokens ?? 64,
    cachePages: options.cachePages ?? 4_096,
    loadMs: options.loadMs ?? 0,
    warmUpMs: options.warmUpMs ?? 0,
    edge: {
      healthMs: 1_000,
      healthTimeoutMs: 20_000,
      idleMs: 5_000,
      disconnectPollMs: 4_000,
      streamDisconnectMs: 2_000,
      drainPollMs: 5_000,
      ...options.edge,
    },
  }
}
