import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Connection } from '@temporalio/client'
import { type Death, SupervisedProcess } from './supervised-process.ts'

const run = promisify(execFile)

export interface TemporalServerOptions {
  binary: string
  /** SQLite file with every workflow's history: what makes a restart lose nothing. */
  databaseFile: string
  logFile: string
  /** 0 or left out: a free one. */
  port?: number
  /** Port of the Temporal UI; left out: none is served. */
  uiPort?: number
  onDeath?: (death: Death) => void
  dynamicConfig?: Record<string, unknown>
}

/** How long closed workflows can be looked at and replayed. The server's own default is one day. */
const retention = '30d'

/** A local, persistent Temporal server that is started again when it dies. */
export class TemporalServer {
  private constructor(
    readonly address: string,
    readonly uiUrl: string | undefined,
    private readonly process: SupervisedProcess,
  ) {}

  /** Starts a server on the loopback interface and waits until it answers. */
  static async start(options: TemporalServerOptions): Promise<TemporalServer> {
    await mkdir(dirname(options.databaseFile), { recursive: true })
    const port = await freePort(options.port)
    const uiPort = options.uiPort === undefined ? undefined : await freePort(options.uiPort)
    const address = `127.0.0.1:${port}`
    const supervised = new SupervisedProcess({
      name: 'Temporal server',
      command: options.binary,
      args: serverArguments(options, port, uiPort),
      logFile: options.logFile,
      ...(options.onDeath && { onDeath: options.onDeath }),
    })
    try {
      await untilAnswering(address)
      await run(options.binary, [
        'operator',
        'namespace',
        'update',
        '--address',
        address,
        '--retention',
        retention,
        '-n',
        'default',
      ])
    } catch (error) {
      await supervised.stop()
      throw new Error(`The Temporal server did not start; see ${options.logFile}.`, { cause: error })
    }
    return new TemporalServer(address, uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`, supervised)
  }

  get pid(): number | undefined {
    return this.process.pid
  }

  signal(signal: NodeJS.Signals): void {
    this.process.signal(signal)
  }

  async stop(): Promise<void> {
    await this.process.stop()
  }
}

function serverArguments(options: TemporalServerOptions, port: number, uiPort: number | undefined): string[] {
  const dynamicConfig = Object.entries(options.dynamicConfig ?? {})
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', options.databaseFile],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...['--log-level', 'error'],
    ...dynamicConfig.flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`]),
  ]
}

/** The port that was asked for, or another one when that is taken. */
async function freePort(wanted = 0): Promise<number> {
  const server = createServer()
  try {
    server.listen(wanted, '127.0.0.1')
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No free port.')
  return address.port
}

const startLimitMs = 60_000

async function untilAnswering(address: string): Promise<void> {
  const deadline = Date.now() + startLimitMs
  for (;;) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 2_000 })
      await connection.workflowService.describeNamespace({ namespace: 'default' })
      await connection.close()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(100)
    }
  }
}
