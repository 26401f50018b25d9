import { type Launch, readFlags, UsageError, usage } from './flags.ts'
import { type SimulatedEngine, startSimulatedEngine } from './simulated-engine.ts'

try {
  const launch = readFlags(process.argv.slice(2))
  if (launch) await host(launch)
  else process.stdout.write(usage)
} catch (error) {
  process.stderr.write(`simulated engine: ${messageOf(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

/** Runs the engines until a signal ends them, and says on one line of stdout where they are. */
async function host(launch: Launch): Promise<void> {
  const engines = await startAll(launch)
  process.stdout.write(`${JSON.stringify({ simulated: true, urls: engines.map(({ url }) => url) })}\n`)
  const leave = async () => {
    if (!launch.drains) await closeAll(engines)
    else {
      await Promise.all(engines.map((engine) => engine.drain()))
      // Up to 0.5.19 SGLang ends its own process tree by SIGKILL, whatever it ends for.
      if (launch.options.compat !== '0.5.23') process.kill(process.pid, 'SIGKILL')
    }
    process.exit(0)
  }
  const onSignal = () => {
    leave().catch(() => process.exit(1))
  }
  process.once('SIGTERM', onSignal)
  process.once('SIGINT', onSignal)
}

async function startAll({ engines, options, faults, exitsOnCrash }: Launch): Promise<SimulatedEngine[]> {
  const started: SimulatedEngine[] = []
  const onDeath = () => {
    if (exitsOnCrash) process.kill(process.pid, 'SIGKILL')
  }
  try {
    for (let at = 0; at < engines; at++) {
      const own = faults.filter(({ engine }) => engine === undefined || engine === at)
      const port = options.port ? options.port + at : 0
      started.push(await startSimulatedEngine({ ...options, port, faults: own.map(({ spec }) => spec), onDeath }))
    }
  } catch (error) {
    await closeAll(started)
    throw error
  }
  return started
}

async function closeAll(engines: readonly SimulatedEngine[]): Promise<void> {
  await Promise.all(engines.map((engine) => engine.close()))
}

function messageOf(error: unknown): string {
  const { code, port, message } = error as { code?: unknown; port?: unknown; message?: unknown }
  if (code === 'EADDRINUSE') {
    return `port ${port} is taken by another process; choose another with --port, or 0 for free ones.`
  }
  return typeof message === 'string' ? message : String(error)
}
