import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cachedTool } from '../servers/cached-tools.ts'

const run = promisify(execFile)

/** What trainers read datasets with, at the releases that results were compared with. */
const packages = [
  'datasets==5.2.0',
  'tokenizers==0.23.3',
  'transformers==5.24.0',
  'pyarrow==26.0.1',
  'jinja2==3.1.6',
  'zstandard==0.25.0',
]

const scripts = fileURLToPath(new URL('../fixtures/python/', import.meta.url))

/** A Python with Hugging Face's libraries, in an environment of its own that is made once. */
export async function pythonWithDatasets(): Promise<string> {
  return await cachedTool({
    name: packages.join(', '),
    folder: 'python-datasets-5.2.0-3',
    program: join('bin', 'python'),
    install: async (draft) => {
      await run('python3', ['-m', 'venv', draft])
      await run(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages])
    },
  })
}

/** Runs a script of test/fixtures/python without a network; gives what it printed, parsed as JSON. */
export async function runPython<Result>(script: string, ...args: string[]): Promise<Result> {
  const python = await pythonWithDatasets()
  const { stdout } = await run(python, [join(scripts, script), ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', TOKENIZERS_PARALLELISM: 'false', TRANSFORMERS_VERBOSITY: 'error' },
    maxBuffer: 512 * 1024 * 1024,
  })
  return JSON.parse(stdout)
}
