import { parseArgs } from 'node:util'
import { readFaultFlag } from './faults/fault-spec.ts'
import type { SimulatedEngineOptions } from './options.ts'
import { type ServiceModelName, serviceModels } from './scheduling/service-model.ts'
import { type FaultSpec, type SimulatedEngine, startSimulatedEngine } from './simulated-engine.ts'

const usage = `Hosts simulated SGLang servers in one process.

  node dist/sglang/simulator/main.js --engines 8 --port 30000 --time-scale 0.01 --max-running 72

  --engines N             how many (1)
  --port P                port of the first, the others follow; 0 takes free ones (0)
  --host H                address to listen on (127.0.0.1)
  --time-scale S          1 is real time, 0.01 a hundred times faster, 0 answers at once (1)
  --max-running N         requests that run at a time, per engine (72)
  --max-queued N          requests that wait at most (unlimited)
  --mean-tokens N         mean length of an answer (2712)
  --sigma S               spread of the lengths: standard deviation of the logarithm (0.8)
  --max-tokens N          no answer is longer (unlimited)
  --context-length N      tokens of prompt and answer together (32768)
  --kv-tokens N           tokens of context of all running requests (600000)
  --service-model NAME    ${Object.keys(serviceModels).join(', ')} (h200-72)
  --model ID              served name (simulated)
  --weight-version V      (default)
  --compat V              0.5.12, 0.5.14 or 0.5.23 (0.5.12)
  --seed N                seed of lengths and texts (0)
  --api-key KEY           asked of every request
  --thinking WHEN         asked or always (asked)
  --reasoning-parser      chat takes the thinking out of the content
  --metrics               /metrics answers
  --health-ms N           how long /health takes (1000)
  --load-ms N             the ports stay closed for so long (0)
  --warm-up-ms N          then /health says 503 for so long (0)
  --fault SPEC            sets a fault, such as F7:probability=0.01 or F4:factor=3,afterMs=1000,forMs=5000;
                          2/F1:afterMs=5000 sets it on engine 2 alone (counted from 0); may be repeated
  --exit-on-crash         a fault that ends an engine's process ends this one, by SIGKILL
  --drain                 SIGTERM waits for the requests under way, as SGLang does
`

/** Wrong use of the command line. */
class UsageError extends Error {
  override readonly name = 'UsageError'
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`simulated engine: ${messageOf(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function main(args: string[]): Promise<void> {
  const flags = readFlags(args)
  if (flags.help) {
    process.stdout.write(usage)
    return
  }
  const { engines, options } = flags
  const started: SimulatedEngine[] = []
  const closeAll = () => Promise.all(started.map((engine) => engine.close()))
  try {
    for (let at = 0; at < engines; at++) {
      const port = options.port ? options.port + at : 0
      const faults = flags.faults.filter(({ engine }) => engine === undefined || engine === at).map(({ spec }) => spec)
      started.push(await startSimulatedEngine({ ...options, port, faults, onDeath: flags.onDeath }))
    }
  } catch (error) {
    await closeAll()
    throw error
  }
  process.stdout.write(`${JSON.stringify({ simulated: true, urls: started.map(({ url }) => url) })}\n`)
  const leave = () => {
    const ends = flags.drains ? Promise.all(started.map((engine) => engine.drain())) : closeAll()
    ends.then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once('SIGTERM', leave)
  process.once('SIGINT', leave)
}

interface RunFlags {
  help: false
  engines: number
  options: SimulatedEngineOptions & { port: number }
  faults: { engine: number | undefined; spec: FaultSpec }[]
  onDeath: () => void
  drains: boolean
}

type Flags = { help: true } | RunFlags

function readFlags(args: string[]): Flags {
  const value = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const { values } = parse(() =>
    parseArgs({
      args,
      options: {
        engines: value,
        port: value,
        host: value,
        'time-scale': value,
        'max-running': value,
        'max-queued': value,
        'mean-tokens': value,
        sigma: value,
        'max-tokens': value,
        'context-length': value,
        'kv-tokens': value,
        'service-model': value,
        model: value,
        'weight-version': value,
        compat: value,
        seed: value,
        'api-key': value,
        thinking: value,
        'reasoning-parser': flag,
        metrics: flag,
        'health-ms': value,
        'load-ms': value,
        'warm-up-ms': value,
        fault: { ...value, multiple: true },
        'exit-on-crash': flag,
        drain: flag,
        help: { ...flag, short: 'h' },
      },
    }),
  )
  if (values.help) return { help: true }
  const lengths = compact({
    meanTokens: numberFlag('mean-tokens', values['mean-tokens']),
    sigma: numberFlag('sigma', values.sigma),
    maxTokens: numberFlag('max-tokens', values['max-tokens']),
  })
  const options = compact({
    host: values.host,
    timeScale: numberFlag('time-scale', values['time-scale']),
    cap: numberFlag('max-running', values['max-running']),
    maxQueued: numberFlag('max-queued', values['max-queued']),
    contextLength: numberFlag('context-length', values['context-length']),
    kvTokens: numberFlag('kv-tokens', values['kv-tokens']),
    serviceModel: oneOf('service-model', values['service-model'], Object.keys(serviceModels) as ServiceModelName[]),
    modelId: values.model,
    weightVersion: values['weight-version'],
    compat: oneOf('compat', values.compat, ['0.5.12', '0.5.14', '0.5.23']),
    seed: numberFlag('seed', values.seed),
    apiKey: values['api-key'],
    thinking: oneOf('thinking', values.thinking, ['asked', 'always']),
    reasoningParser: values['reasoning-parser'],
    metrics: values.metrics,
    loadMs: numberFlag('load-ms', values['load-ms']),
    warmUpMs: numberFlag('warm-up-ms', values['warm-up-ms']),
  })
  const edge = compact({ healthMs: numberFlag('health-ms', values['health-ms']) })
  return {
    help: false,
    engines: numberFlag('engines', values.engines) ?? 1,
    options: { ...options, lengths, edge, port: numberFlag('port', values.port) ?? 0 },
    faults: (values.fault ?? []).map(faultFlag),
    onDeath: values['exit-on-crash'] ? () => process.kill(process.pid, 'SIGKILL') : () => {},
    drains: values.drain ?? false,
  }
}

function faultFlag(flag: string): { engine: number | undefined; spec: FaultSpec } {
  const [, engine, rest = ''] = /^(?:(\d+)\/)?(.*)$/s.exec(flag) ?? []
  try {
    return { engine: engine === undefined ? undefined : Number(engine), spec: readFaultFlag(rest) }
  } catch (error) {
    throw new UsageError(`--fault ${flag}: ${messageOf(error)}`)
  }
}

function parse<Parsed>(read: () => Parsed): Parsed {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`${messageOf(error)}\n\n${usage}`)
  }
}

function numberFlag(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number) || number < 0) {
    throw new UsageError(`--${name} must be a number of 0 or more, got "${value}".`)
  }
  return number
}

function oneOf<Choice extends string>(
  name: string,
  value: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined) throw new UsageError(`--${name} must be one of ${choices.join(', ')}, got "${value}".`)
  return choice
}

type Compact<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** The fields that are there: defaults are the engine's to give. */
function compact<Fields extends object>(fields: Fields): Compact<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Compact<Fields>
}

function messageOf(error: unknown): string {
  const { code, port, message } = error as { code?: unknown; port?: unknown; message?: unknown }
  if (code === 'EADDRINUSE')
    return `port ${port} is taken by another process; choose another with --port, or 0 for free ones.`
  return typeof message === 'string' ? message : String(error)
}
