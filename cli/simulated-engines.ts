import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { projectRoot } from '../workers/environment.ts'

/** Simulated SGLang servers in a process of their own. */
export class SimulatedEngines {
  private constructor(
    readonly urls: string[],
    private readonly child: ChildProcess,
  ) {}

  static async start(args: string[]): Promise<SimulatedEngines> {
    const script = join(projectRoot(), 'dist', 'sglang', 'simulator', 'main.js')
    const child = spawn(process.execPath, [script, ...args], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })
    const line = await Promise.race([
      once(lines, 'line').then(([first]) => String(first)),
      once(child, 'exit').then(([code]) => {
        throw new Error(`The simulated engines did not start (exit code ${code}).`)
      }),
    ])
    const { urls } = JSON.parse(line) as { urls: string[] }
    return new SimulatedEngines(urls, child)
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await exited
  }
}
