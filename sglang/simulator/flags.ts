import { parseArgs } from 'node:util'
import { readFaultFlag } from './faults/fault-spec.ts'
import type { FaultSpec } from './faults/triggers.ts'
import type { SimulatedEngineOptions } from './options.ts'
import { serviceModels } from './scheduling/service-model.ts'

/** What the command line asks for. */
export interface Launch {
  engines: number
  options: SimulatedEngineOptions
  /** Faults from the start; of all engines, or of one, counted from 0. */
  faults: { engine: number | undefined; spec: FaultSpec }[]
  /** A fault that ends an engine's process ends this one. */
  exitsOnCrash: boolean
  /** SIGTERM waits for requests under way, and ends the process as SGLang's version does. */
  drains: boolean
}

/** Wrong use of the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

interface Flag {
  /** Stands for the value in the help; flags without one are switches. */
  value?: string
  help: string
  set: (launch: Launch, value: string) => void
}

const option = (set: (options: SimulatedEngineOptions) => void) => (launch: Launch) => set(launch.options)

const flags: Readonly<Record<string, Flag>> = {
  engines: { value: 'N', help: 'how many (1)', set: (launch, text) => (launch.engines = whole(text)) },
  port: {
    value: 'P',
    help: 'port of the first, the others follow; 0 takes free ones (0)',
    set: ({ options }, text) => (options.port = whole(text)),
  },
  host: { value: 'H', help: 'address to listen on (127.0.0.1)', set: ({ options }, text) => (options.host = text) },
  'time-scale': {
    value: 'S',
    help: '1 is real time, 0.01 a hundred times faster, 0 answers at once (1)',
    set: ({ options }, text) => (options.timeScale = number(text)),
  },
  'max-running': {
    value: 'N',
    help: 'requests that run at a time, per engine (72)',
    set: ({ options }, text) => (options.cap = whole(text)),
  },
  'max-queued': {
    value: 'N',
    help: 'requests that wait at most (no limit)',
    set: ({ options }, text) => (options.maxQueued = whole(text)),
  },
  'mean-tokens': {
    value: 'N',
    help: 'mean length of an answer (2712)',
    set: ({ options }, text) => (options.lengths = { ...options.lengths, meanTokens: number(text) }),
  },
  sigma: {
    value: 'S',
    help: 'spread of the lengths: standard deviation of their logarithm (0.8)',
    set: ({ options }, text) => (options.lengths = { ...options.lengths, sigma: number(text) }),
  },
  'max-tokens': {
    value: 'N',
    help: 'no answer is longer (no limit)',
    set: ({ options }, text) => (options.lengths = { ...options.lengths, maxTokens: whole(text) }),
  },
  'context-length': {
    value: 'N',
    help: 'tokens of prompt and answer together (32768)',
    set: ({ options }, text) => (options.contextLength = whole(text)),
  },
  'kv-tokens': {
    value: 'N',
    help: 'tokens of context of all running requests together (600000)',
    set: ({ options }, text) => (options.kvTokens = whole(text)),
  },
  'service-model': {
    value: 'NAME',
    help: `${Object.keys(serviceModels).join(', ')} (h200-72)`,
    set: ({ options }, text) => (options.serviceModel = oneOf(text, namesOf(serviceModels))),
  },
  model: { value: 'ID', help: 'served name (simulated)', set: ({ options }, text) => (options.modelId = text) },
  'model-path': {
    value: 'PATH',
    help: 'what the model was loaded from (the served name)',
    set: ({ options }, text) => (options.modelPath = text),
  },
  'weight-version': { value: 'V', help: '(default)', set: ({ options }, text) => (options.weightVersion = text) },
  compat: {
    value: 'V',
    help: 'SGLang version to behave like: 0.5.12, 0.5.14 or 0.5.23 (0.5.12)',
    set: ({ options }, text) => (options.compat = oneOf(text, ['0.5.12', '0.5.14', '0.5.23'])),
  },
  seed: { value: 'N', help: 'seed of lengths and texts (0)', set: ({ options }, text) => (options.seed = whole(text)) },
  'api-key': { value: 'KEY', help: 'asked of every request', set: ({ options }, text) => (options.apiKey = text) },
  'admin-api-key': {
    value: 'KEY',
    help: 'asked of control requests',
    set: ({ options }, text) => (options.adminApiKey = text),
  },
  thinking: {
    value: 'WHEN',
    help: 'asked: where the prompt switches it on; always: unless it switches it off (asked)',
    set: ({ options }, text) => (options.thinking = oneOf(text, ['asked', 'always'])),
  },
  'reasoning-parser': {
    help: 'chat takes the thinking out of the content',
    set: option((options) => (options.reasoningParser = true)),
  },
  metrics: { help: '/metrics answers', set: option((options) => (options.metrics = true)) },
  'cache-report': {
    help: 'chat tells how many prompt tokens were cached',
    set: option((options) => (options.cacheReport = true)),
  },
  'health-ms': {
    value: 'N',
    help: 'how long /health takes (1000)',
    set: ({ options }, text) => (options.edge = { ...options.edge, healthMs: number(text) }),
  },
  'load-ms': {
    value: 'N',
    help: 'the ports stay closed for so long (0)',
    set: ({ options }, text) => (options.loadMs = number(text)),
  },
  'warm-up-ms': {
    value: 'N',
    help: 'then /health says 503 for so long (0)',
    set: ({ options }, text) => (options.warmUpMs = number(text)),
  },
  fault: {
    value: 'SPEC',
    help: 'a fault such as F7:probability=0.01 or F4:factor=3,afterMs=1000,forMs=5000; 2/F1 is of engine 2 alone; repeatable',
    set: ({ faults }, text) => faults.push(engineFault(text)),
  },
  'exit-on-crash': {
    help: "a fault that ends an engine's process ends this one, by SIGKILL",
    set: (launch) => (launch.exitsOnCrash = true),
  },
  drain: {
    help: 'SIGTERM waits for requests under way, and ends as the version does',
    set: (launch) => (launch.drains = true),
  },
}

export const usage = `Hosts simulated SGLang servers in one process.

  node dist/sglang/simulator/main.js --engines 8 --port 30000 --time-scale 0.01 --max-running 72

${Object.entries(flags)
  .map(([name, { value = '', help }]) => `  ${`--${name} ${value}`.padEnd(26)}${help}`)
  .join('\n')}
  --help                    this text
`

/** Reads the command line; undefined where only help is wanted. Throws `UsageError`. */
export function readFlags(args: string[]): Launch | undefined {
  const launch: Launch = { engines: 1, options: {}, faults: [], exitsOnCrash: false, drains: false }
  const values = parsed(args)
  if (values.help) return undefined
  for (const [name, given] of Object.entries(values)) {
    for (const value of Array.isArray(given) ? given : [given]) {
      try {
        flags[name]?.set(launch, String(value))
      } catch (error) {
        throw new UsageError(`--${name}: ${error instanceof Error ? error.message : error}`)
      }
    }
  }
  return launch
}

function parsed(args: string[]): Record<string, string | boolean | (string | boolean)[] | undefined> {
  const known = Object.entries(flags).map(([name, { value }]) => [
    name,
    { type: value === undefined ? 'boolean' : 'string', multiple: name === 'fault' } as const,
  ])
  try {
    const options = { ...Object.fromEntries(known), help: { type: 'boolean', short: 'h' } }
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}. See --help.`)
  }
}

function number(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new UsageError(`must be a number of 0 or more, got "${text}".`)
  }
  return value
}

function whole(text: string): number {
  const value = number(text)
  if (!Number.isInteger(value)) throw new UsageError(`must be a whole number, got "${text}".`)
  return value
}

function oneOf<const Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((one) => one === text)
  if (choice === undefined) throw new UsageError(`must be one of ${choices.join(', ')}, got "${text}".`)
  return choice
}

function namesOf<Table extends object>(table: Table): (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[]
}

function engineFault(text: string): Launch['faults'][number] {
  const [, engine, fault = ''] = /^(?:(\d+)\/)?(.*)$/s.exec(text) ?? []
  return { engine: engine === undefined ? undefined : Number(engine), spec: readFaultFlag(fault) }
}
