import { join } from 'node:path'
import { compareVersions } from '../versions.ts'

/** How to start one SGLang server. */
export interface LaunchOptions {
  /** Program and arguments as one would type them, such as `python -m sglang.launch_server --model-path …`. */
  command: readonly string[]
  /** What `CUDA_VISIBLE_DEVICES` is set to. */
  gpu: string
  port: number
  /** Folder for this GPU's compile caches: servers that start together damage a shared one. */
  cacheFolder: string
  /** Release of SGLang, for flags that have changed their name; undefined: the flags are left as they are. */
  version?: string
}

export interface Launch {
  program: string
  args: string[]
  env: Record<string, string>
}

/** Flags that were renamed: before the release the old name, from it on the new one. */
const renamedFlags = [{ old: '--mamba-scheduler-strategy', now: '--mamba-radix-cache-strategy', from: '0.5.20' }]

/** Puts the command line and environment of a server together. What the command says itself is never overruled. */
export function launchOf({ command, gpu, port, cacheFolder, version }: LaunchOptions): Launch {
  const [program, ...given] = command
  if (!program) throw new Error('The command to launch the engine with is empty.')
  const args = version === undefined ? [...given] : given.map((flag) => currentName(flag, version))
  const add = (flag: string, value: string) => {
    if (!args.some((arg) => arg === flag || arg.startsWith(`${flag}=`))) args.push(flag, value)
  }
  add('--host', '127.0.0.1')
  add('--port', String(port))
  // The default is a free port that is found at start: several servers that start together race for it.
  add('--nccl-port', String(port + 1000))
  return {
    program,
    args,
    env: {
      CUDA_VISIBLE_DEVICES: gpu,
      // Longer than a pooled connection lives at our end, so that no request meets a closing socket.
      SGLANG_TIMEOUT_KEEP_ALIVE: '120',
      // Otherwise a suspected leak found while idle ends the server.
      SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE: '0',
      TRITON_CACHE_DIR: join(cacheFolder, 'triton'),
      TORCHINDUCTOR_CACHE_DIR: join(cacheFolder, 'inductor'),
      FLASHINFER_WORKSPACE_BASE: join(cacheFolder, 'flashinfer'),
      PYTHONUNBUFFERED: '1',
    },
  }
}

function currentName(flag: string, version: string): string {
  const renamed = renamedFlags.find(({ old, now }) =>
    [old, now].some((name) => flag === name || flag.startsWith(`${name}=`)),
  )
  if (!renamed) return flag
  const name = compareVersions(version, renamed.from) >= 0 ? renamed.now : renamed.old
  return name + flag.slice(flag.startsWith(renamed.old) ? renamed.old.length : renamed.now.length)
}
