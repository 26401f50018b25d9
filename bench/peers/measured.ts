import { spawn } from 'node:child_process'

/**
 * Runs a command that measures itself and prints its figures as JSON in the last line. Gives a sentence when it fails: that
 * a peer can't do the job is a finding, not a failure of the benchmark.
 */
export async function measured<Figures>([command = '', ...args]: readonly string[]): Promise<Figures | string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-10_000)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2_000)
  })
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (...end) => resolve(end))
  })
  if (code !== 0) return `ended with ${signal ?? code}: ${errors.trim().split('\n').at(-1) ?? ''}`
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Figures
}
