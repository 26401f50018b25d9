import { open } from 'node:fs/promises'

const tailBytes = 64 * 1024
const shownLines = 15

/** What a server's log says about why it ended. */
export interface Diagnosis {
  /** One sentence, with what to do where that is known. */
  summary: string
  /** The last lines. */
  tail: string[]
}

/** Signs in the log of a server that failed, the most telling first. */
const signs: readonly { pattern: RegExp; summary: string }[] = [
  {
    pattern: /unrecognized arguments|error: argument /,
    summary: 'It does not know one of its flags: see its --help for this version.',
  },
  {
    pattern: /address already in use|Errno 98/i,
    summary: 'Its port is taken: another server runs there, or a dead one has left a process behind.',
  },
  {
    pattern: /CUDA out of memory|OutOfMemoryError|Not enough memory/i,
    summary:
      'It ran out of GPU memory: lower --mem-fraction-static or --max-running-requests, or see what else is on the GPU.',
  },
  {
    pattern: /illegal memory access|CUDA error|device-side assert/i,
    summary: 'A GPU kernel failed: another --attention-backend often helps; repeated on one GPU only, suspect the GPU.',
  },
  {
    pattern: /No CUDA GPUs are available|GPU has fallen off|Xid/i,
    summary: 'The GPU is gone: the machine needs attention.',
  },
  {
    pattern: /Not enough space for mamba/i,
    summary: 'Its state cache is too small: use the no_buffer strategy or fewer running requests.',
  },
  {
    pattern: /memory leak detected/i,
    summary: 'Its idle memory check ended it: set SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE=0.',
  },
  {
    pattern: /No such file or directory|does not appear to have a file|Repository Not Found/i,
    summary: 'It does not find the model: check --model-path.',
  },
  { pattern: /Watchdog|watchdog timeout/, summary: 'Its own watchdog ended it: a forward step hung.' },
  { pattern: /Scheduler hit an exception|SIGQUIT received/, summary: 'Its scheduler crashed.' },
]

/** Reads the end of a log from an offset on and says what it points to. */
export async function diagnose(logFile: string, from: number): Promise<Diagnosis> {
  const text = await readTail(logFile, from)
  const tail = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-shownLines)
  const sign = signs.find(({ pattern }) => pattern.test(text))
  return { summary: sign?.summary ?? (tail.at(-1)?.slice(0, 300) || 'It said nothing.'), tail }
}

async function readTail(logFile: string, from: number): Promise<string> {
  const handle = await open(logFile)
  try {
    const { size } = await handle.stat()
    const start = Math.max(from, size - tailBytes)
    const buffer = Buffer.alloc(Math.max(0, size - start))
    await handle.read(buffer, 0, buffer.length, start)
    return buffer.toString()
  } finally {
    await handle.close()
  }
}
