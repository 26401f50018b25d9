import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { projectRoot } from '../../workers/environment.ts'

const demos: { child: ChildProcess; home?: string }[] = []

/** Starts the demo as a user does, and collects what it prints. */
function startDemo() {
  const child = spawn(process.execPath, [join(projectRoot(), 'bin', 'longhaul.mjs'), 'demo'], {
    env: withoutTemporal(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const demo = { child, output: '', home: undefined as string | undefined }
  child.stdout.on('data', (chunk: Buffer) => {
    demo.output += chunk
    demo.home ??= /, in (\/\S+)/.exec(demo.output)?.[1]
  })
  demos.push(demo)
  return demo
}

function withoutTemporal(): NodeJS.ProcessEnv {
  const { TEMPORAL_ADDRESS: _, ...env } = process.env
  return env
}

/** Processes that belong to the demo: its folder stands in their arguments or environment. */
async function processesOf(home: string): Promise<string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid))) {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
    if (`${await read('cmdline')}\0${await read('environ')}`.includes(home))
      found.push((await read('cmdline')).replaceAll('\0', ' '))
  }
  return found
}

async function occupy(port: number): Promise<Server | undefined> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  return await Promise.race([once(server, 'listening').then(() => server), once(server, 'error').then(() => undefined)])
}

const occupied: Server[] = []
afterEach(() => {
  for (const server of occupied.splice(0)) server.close()
})
afterAll(async () => {
  for (const { child, home } of demos) {
    if (child.exitCode === null) child.kill('SIGTERM')
    if (home) await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
})

describe('the demo', () => {
  it('takes other ports when its own are busy, and leaves no process behind at Ctrl-C', async () => {
    for (const port of [7233, 8233]) {
      const server = await occupy(port)
      if (server) occupied.push(server)
    }
    const demo = startDemo()
    await expect.poll(() => demo.output, { timeout: 240_000 }).toMatch(/\d+\/2240 prompts/)
    expect(demo.output).not.toContain('127.0.0.1:7233')
    expect(await processesOf(demo.home!)).not.toHaveLength(0)
    const exited = once(demo.child, 'exit')
    demo.child.kill('SIGINT')
    await exited
    expect(await processesOf(demo.home!)).toEqual([])
  })

  it('finishes although a worker is killed half way, and accounts for every prompt', async () => {
    const demo = startDemo()
    const [code] = await once(demo.child, 'exit')
    expect(code).toBe(0)
    expect(demo.output).toMatch(/killing the worker of engine gpu-3 \(process \d+\) with SIGKILL/)
    expect(demo.output).toMatch(/2240 samples \+ 0 failures = 2240 prompts/)
    expect(demo.output).toMatch(/Temporal UI: http/)
    expect(demo.output).toMatch(/temporal workflow start .*--type expandDataset/)
    expect(demo.output).toMatch(/tctl .*workflow start/)
    expect(await processesOf(demo.home!)).toEqual([])
  })
})
