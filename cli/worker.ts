import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { dataQueueOf, defaultTaskQueue } from '../domain/dispatch.ts'
import { runAllWorkers } from '../workers/all-workers.ts'
import { runControlWorker } from '../workers/control-worker.ts'
import { runDataWorker } from '../workers/data-worker.ts'
import { runEngineWorker } from '../workers/engine-worker.ts'
import { parseEngines, parseTimings } from '../workers/engine-worker-options.ts'
import { readEnvironment } from '../workers/environment.ts'
import { createLog, installRuntime } from '../workers/log.ts'

const environment = readEnvironment(process.env)

export function workerCommand() {
  return new Command('worker')
    .description('Run worker processes: all of one machine, or one kind alone.')
    .addCommand(allCommand())
    .addCommand(controlCommand())
    .addCommand(dataCommand())
    .addCommand(engineCommand())
}

function allCommand() {
  return new Command('all')
    .description('Run every worker of this machine, and a Temporal server where none is configured or running.')
    .requiredOption(
      '--engines <list>',
      'URLs of the SGLang servers, or queue=url; ports may be a range',
      checked(parseEngines),
    )
    .option('--task-queue <name>', 'control queue', defaultTaskQueue)
    .addOption(modeOption())
    .option('--launch <command>', 'run the servers as well, with this command; host, port and GPU are added')
    .option(
      '--grace-seconds <n>',
      'after SIGTERM, let requests in flight go on for so long',
      checked(positiveNumber),
      20,
    )
    .option(
      '--min-free-mib <n>',
      'kept free on the scratch disk; with less, nothing new is started',
      checked(positiveNumber),
      2048,
    )
    .option('--timings <list>', 'times of the engine workers, such as lostAfterMs=30000', checked(passOn(parseTimings)))
    .option('--progress-seconds <n>', 'how often progress.json is replaced', checked(positiveNumber), 3)
    .addHelpText('after', '\nExample:\n  longhaul worker all --engines http://127.0.0.1:30000-30007')
    .action(async (options) => {
      const log = createLog({ worker: 'all' })
      const { taskQueue, engines, mode, launch, graceSeconds, minFreeMib, timings, progressSeconds } = options
      const engineArguments = (n: number) => [
        ...['--mode', mode, '--grace-seconds', String(graceSeconds), '--min-free-mib', String(minFreeMib)],
        ...(timings ? ['--timings', timings] : []),
        ...(launch
          ? ['--launch', launch, '--gpu', String(n), '--start-delay-seconds', String(startDelaySeconds(n))]
          : []),
      ]
      const controlArguments = ['--progress-seconds', String(progressSeconds)]
      await runAllWorkers({ taskQueue, engines, engineArguments, controlArguments }, environment, process.env, log)
    })
}

function controlCommand() {
  return new Command('control')
    .description('Run workflows and light activities.')
    .option('--task-queue <name>', 'control queue', defaultTaskQueue)
    .option('--progress-seconds <n>', 'how often progress.json is replaced', checked(positiveNumber), 3)
    .addHelpText('after', '\nExample:\n  TEMPORAL_ADDRESS=temporal:7233 longhaul worker control')
    .action(async ({ taskQueue, progressSeconds }) => {
      const log = createLog({ worker: 'control' })
      installRuntime(log)
      await runControlWorker({ taskQueue, progressEveryMs: progressSeconds * 1000 }, environment, log)
    })
}

function dataCommand() {
  return new Command('data')
    .description('Run the CPU-heavy stages: prepare, verify, merge, tokenize.')
    .option('--task-queue <name>', 'control queue; the data queue is named after it', defaultTaskQueue)
    .option('--threads <n>', 'CPU cores to use', checked(positiveNumber))
    .addHelpText('after', '\nExample:\n  longhaul worker data --threads 8')
    .action(async ({ taskQueue, threads }) => {
      const log = createLog({ worker: 'data' })
      installRuntime(log)
      await runDataWorker({ taskQueue: dataQueueOf(taskQueue), ...(threads && { threads }) }, environment, log)
    })
}

function engineCommand() {
  return new Command('engine')
    .description('Feed one engine.')
    .requiredOption('--queue <name>', 'task queue of the engine, such as gpu-0')
    .requiredOption('--url <url>', 'URL of its SGLang server')
    .addOption(modeOption())
    .option(
      '--concurrency <n>',
      'requests in flight; left out: what the engine reports, plus headroom',
      checked(positiveNumber),
    )
    .option(
      '--grace-seconds <n>',
      'after SIGTERM, let requests in flight go on for so long',
      checked(positiveNumber),
      20,
    )
    .option(
      '--min-free-mib <n>',
      'kept free on the scratch disk; with less, nothing new is started',
      checked(positiveNumber),
      2048,
    )
    .option('--timings <list>', 'times to go by, such as lostAfterMs=30000', checked(parseTimings))
    .option('--launch <command>', 'run the server as well, with this command; host, port and GPU are added')
    .option('--gpu <id>', 'what CUDA_VISIBLE_DEVICES is set to for it', '0')
    .option('--start-delay-seconds <n>', 'wait before its first start', checked(Number), 0)
    .addHelpText('after', '\nExample:\n  longhaul worker engine --queue gpu-0 --url http://127.0.0.1:30000')
    .action(
      async ({ queue, url, mode, concurrency, graceSeconds, minFreeMib, timings, launch, gpu, startDelaySeconds }) => {
        const log = createLog({ worker: 'engine', engine: queue })
        installRuntime(log)
        const graceMs = graceSeconds * 1000
        await runEngineWorker(
          {
            ...{ queue, url, mode, graceMs, minFreeBytes: minFreeMib * 2 ** 20 },
            ...(concurrency && { concurrency }),
            ...(timings && { timings }),
            ...(launch && { launch: { command: launch, gpu, startDelayMs: startDelaySeconds * 1000 } }),
          },
          environment,
          log,
        )
      },
    )
}

function modeOption() {
  return new Option('--mode <mode>', "native: SGLang's own API, ids and all; chat: any OpenAI-compatible server")
    .choices(['native', 'chat'] as const)
    .default('native' as const)
}

/** The first server reads the weights from disk, the others then find them in the page cache. */
function startDelaySeconds(n: number): number {
  return n === 0 ? 0 : 30 + 2 * n
}

/** Wraps a parser so that commander shows what it says of a bad value. */
function checked<Value>(parse: (text: string) => Value): (text: string) => Value {
  return (text) => {
    try {
      return parse(text)
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message)
    }
  }
}

/** Checks a value here that another process will parse. */
function passOn(parse: (text: string) => unknown): (text: string) => string {
  return (text) => {
    parse(text)
    return text
  }
}

function positiveNumber(text: string): number {
  const number = Number(text)
  if (!Number.isFinite(number) || number <= 0) throw new Error('It must be a number above 0.')
  return number
}
