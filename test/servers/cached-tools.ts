import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { lockFile } from '../../store/file-lock.ts'

const run = promisify(execFile)

const installLimitMs = 20 * 60_000

/** A tool that tests need cannot be had on this machine; the message says why. */
export class ToolNotAvailable extends Error {
  override readonly name = 'ToolNotAvailable'
  constructor(tool: string, reason: string, cause?: unknown) {
    super(`${tool} cannot be had here: ${reason}`, { cause })
  }
}

/** What one install makes: a folder in the cache, and the program in it. */
export interface CachedTool {
  name: string
  /** Versioned, so that another release lies beside it. */
  folder: string
  /** Path of the program below `folder`. */
  program: string
  /** Fills an empty folder. */
  install: (draft: string) => Promise<void>
}

/** The path of the program, installed on first use. Throws `ToolNotAvailable`. */
export async function cachedTool(tool: CachedTool): Promise<string> {
  const path = join(cacheFolder(), tool.folder, tool.program)
  if (await isExecutable(path)) return path
  await mkdir(dirname(join(cacheFolder(), tool.folder)), { recursive: true })
  // Test files run side by side, and a build takes minutes of all cores.
  const lock = await lockFile(`${join(cacheFolder(), tool.folder)}.lock`, { leaseMs: installLimitMs * 2 })
  try {
    if (!(await isExecutable(path))) await installAside(tool)
    return path
  } finally {
    await lock.release()
  }
}

/** Made aside and moved, so that a broken-off install is never taken for a finished one. */
async function installAside({ name, folder, install }: CachedTool): Promise<void> {
  const place = join(cacheFolder(), folder)
  const draft = `${place}.${process.pid}`
  try {
    await mkdir(draft, { recursive: true })
    await install(draft)
    await rename(draft, place)
  } catch (error) {
    const { code, message, stderr = '' } = error as { code?: unknown; message: string; stderr?: string }
    const reason = code === 'ENOENT' ? message : stderr.trim().split('\n').at(-1)
    throw new ToolNotAvailable(name, reason || String(error), error)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Go binaries are relocatable; the module proxy is asked once per machine. */
export async function goInstall(draft: string, module: string): Promise<void> {
  await run('go', ['install', module], { env: { ...process.env, GOBIN: draft, GOFLAGS: '' }, timeout: installLimitMs })
}

export async function pipInstall(draft: string, requirement: string): Promise<void> {
  await run('python3', ['-m', 'venv', draft])
  await run(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', requirement])
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'longhaul')
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
