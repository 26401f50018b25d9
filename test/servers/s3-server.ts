import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, ListBucketsCommand, S3Client } from '@aws-sdk/client-s3'
import './quiet-sdk.ts'
import type { S3Options } from '../../store/s3-options.ts'

export const testCredentials = { accessKeyId: 'longhaul-test', secretAccessKey: 'longhaul-test-secret' }
export const testRegion = 'us-east-1'

/** How to start one kind of server. */
export interface ServerRecipe {
  name: string
  program: string
  /** Ports that it needs; the first is that of S3. */
  ports: number
  /** Prepares the data folder, once. */
  prepare?: (folder: string) => Promise<void>
  args: (folder: string, ports: number[]) => string[]
  env?: Record<string, string>
}

const startLimitMs = 60_000

/** An S3 server in a child process, with its data in a temporary folder. */
export class S3Server {
  #child: ChildProcess | undefined

  private constructor(
    readonly name: string,
    private readonly recipe: ServerRecipe,
    private readonly folder: string,
    private readonly ports: number[],
  ) {}

  /** Starts a server on free ports of the loopback interface and waits until it answers a signed request. */
  static async start(recipe: ServerRecipe): Promise<S3Server> {
    const folder = await mkdtemp(join(tmpdir(), `longhaul-${recipe.name}-`))
    await recipe.prepare?.(folder)
    const server = new S3Server(recipe.name, recipe, folder, await freePorts(recipe.ports))
    await server.restart()
    return server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.ports[0]}`
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** What a store needs to reach it, possibly through a proxy at another endpoint. */
  options(endpoint = this.endpoint): S3Options {
    return { endpoint, region: testRegion, credentials: testCredentials }
  }

  async createBucket(bucket: string): Promise<void> {
    await this.#withClient((client) => client.send(new CreateBucketCommand({ Bucket: bucket })))
  }

  /** SIGKILL, as in a power cut; the data stay for `restart`. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Starts it again on the same ports with the same data. */
  async restart(): Promise<void> {
    await this.#end('SIGKILL')
    const logFile = join(this.folder, 'server.log')
    const output = openSync(logFile, 'a')
    const child = spawn(this.recipe.program, this.recipe.args(this.folder, this.ports), {
      cwd: this.folder,
      env: { ...process.env, ...this.recipe.env },
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    this.#child = child
    // A test process that ends without stopping its servers must not leave them running.
    const killWithParent = () => child.kill('SIGKILL')
    process.once('exit', killWithParent)
    child.once('exit', () => process.removeListener('exit', killWithParent))
    await this.#untilAnswering(child).catch((error) => {
      child.kill('SIGKILL')
      throw new Error(`${this.name} did not start:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`, { cause: error })
    })
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    await this.#end('SIGKILL')
    await rm(this.folder, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  async #untilAnswering(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + startLimitMs
    await this.#withClient(async (client) => {
      for (;;) {
        if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`)
        try {
          await client.send(new ListBucketsCommand())
          return
        } catch (error) {
          if (Date.now() > deadline) throw error
          await sleep(50)
        }
      }
    })
  }

  async #withClient(work: (client: S3Client) => Promise<unknown>): Promise<void> {
    const client = new S3Client({
      endpoint: this.endpoint,
      region: testRegion,
      credentials: testCredentials,
      forcePathStyle: true,
      maxAttempts: 1,
    })
    try {
      await work(client)
    } finally {
      client.destroy()
    }
  }
}

/** All are held at once, so that no two are the same. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address !== null && typeof address === 'object') ports.push(address.port)
  }
  for (const server of servers) {
    server.close()
    await once(server, 'close')
  }
  return ports
}
