import type { EngineIdentity } from './engine-identity.ts'
import type { ShardOutcome } from './engine-pool.ts'

/** What a run is known by inside the workflows: a few short strings, however long the spec is. */
export interface RunRef {
  run: string
  /** URI of the store that the run lives in. */
  store: string
  /** Hash of the frozen spec: activities refuse to work for another one. */
  specHash: string
}

/** Input of a shard's workflow and of its activities. */
export interface ShardDispatch {
  ref: RunRef
  shard: number
  epoch: number
  /** Task queue of the engine. */
  engine: string
  /** What the run's engines serve: an engine with anything else must not take the shard. */
  identity: EngineIdentity
  /** Prompts may be left for another engine to try. */
  canDefer: boolean
  /** Requests in flight that the engine is to be given; undefined: what it reports itself. */
  concurrency?: number
  /** Workflow that is told how it goes. */
  scheduler: string
  /** An engine worker that has not been heard of for so long is dead. */
  heartbeatSeconds: number
  /** A dispatch that no worker has taken for so long is given up. */
  scheduleToStartSeconds: number
}

/** What the scheduler is told at the end of a dispatch, by signal. */
export interface ShardReport {
  shard: number
  epoch: number
  outcome: ShardOutcome
  /** For people. */
  why?: string
  /** With outcome `committed`. */
  committed?: ShardTotals
}

export interface ShardTotals {
  samples: number
  failures: number
  inputTokens: number
  outputTokens: number
}

/** Names of signals and updates, shared by workflows, activities and the command line. */
export const signals = {
  shardExhausted: 'shardExhausted',
  shardReported: 'shardReported',
  pause: 'pause',
  resume: 'resume',
  stop: 'stop',
  addEngine: 'addEngine',
  drainEngine: 'drainEngine',
  setConcurrency: 'setConcurrency',
} as const

/** Types of failures by which activities tell workflows what to do; nobody matches on messages. */
export const failureTypes = {
  engineLost: 'EngineLost',
  engineRefused: 'EngineRefused',
  shardIncomplete: 'ShardIncomplete',
  invalidSpec: 'InvalidRunSpec',
  specDiffers: 'SpecDiffers',
  runNotWhole: 'RunNotWhole',
  invalidRetry: 'InvalidRetry',
  nothingToRetry: 'NothingToRetry',
  noSuchRun: 'NoSuchRun',
  invalidMerge: 'InvalidMerge',
  datasetDamaged: 'DatasetDamaged',
  countsDisagree: 'CountsDisagree',
  invalidTokenize: 'InvalidTokenize',
  gateClosed: 'GateClosed',
  unitsMissing: 'UnitsMissing',
} as const

/** Workflow ids of a run's parts. */
export const workflowIds = {
  run: (run: string) => `run-${run}`,
  generate: (run: string) => `run-${run}/generate`,
  shard: (run: string, shardName: string) => `run-${run}/shard-${shardName}`,
  merge: (run: string) => `run-${run}/merge`,
  tokenize: (run: string) => `run-${run}/tokenize`,
  retry: (run: string) => `run-${run}/retry`,
}

/** Task queue for what must not wait behind shards: probes, releases, uploads. Served by the engine's own worker. */
export function sideQueue(engine: string): string {
  return `${engine}-side`
}

/** Task queue of workflows and light activities, unless workers are started with another. */
export const defaultTaskQueue = 'longhaul'

/** CPU-heavy stages run in processes of their own, on the queue beside the control queue. */
export function dataQueueOf(taskQueue: string): string {
  return `${taskQueue}-data`
}
