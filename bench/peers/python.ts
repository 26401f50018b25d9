import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './cache-folder.ts'

/** A Python with these packages, in a virtual environment of its own; made at the first call. */
export async function pythonWith(packages: readonly string[]): Promise<string> {
  const key = createHash('sha256').update(packages.join('\n')).digest('hex').slice(0, 12)
  const folder = join(cacheFolder(), 'bench', `python-${key}`)
  const python = join(folder, 'bin', 'python')
  const stamp = join(folder, 'installed')
  if (existsSync(stamp)) return python
  process.stderr.write(`Installing ${packages.join(', ')} …\n`)
  run('python3', ['-m', 'venv', '--clear', folder])
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
  writeFileSync(stamp, '')
  return python
}

function run(command: string, args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`\`${command} ${args.join(' ')}\` failed${error ? `: ${error.message}` : ''}`)
}
