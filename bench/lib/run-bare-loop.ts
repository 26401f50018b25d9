import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface BareLoopResult {
  seconds: number
  cpuSeconds: number
  outputTokens: number
}

/** Runs the loop that one would write by hand, in a process of its own. */
export async function runBareLoop(options: {
  urls: string[]
  prompts: number
  concurrency: number
  output: string
}): Promise<BareLoopResult> {
  const script = fileURLToPath(new URL('bare-loop.js', import.meta.url))
  const { urls, prompts, concurrency, output } = options
  const args = [
    '--urls',
    urls.join(','),
    '--prompts',
    String(prompts),
    '--concurrency',
    String(concurrency),
    '--output',
    output,
  ]
  const { stdout } = await run(process.execPath, [script, ...args])
  return JSON.parse(stdout)
}
