import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EngineProcess, type EngineProcessOptions } from '../../sglang/supervisor/engine-process.ts'
import { launchOf } from '../../sglang/supervisor/launch.ts'
import { diagnose } from '../../sglang/supervisor/log-tail.ts'
import { RestartPlan } from '../../sglang/supervisor/restart-plan.ts'

describe('launching an engine', () => {
  const launch = (command: string[], version?: string) =>
    launchOf({ command, gpu: '3', port: 30_003, cacheFolder: '/cache/gpu-3', ...(version && { version }) })

  it('pins the GPU and adds host and ports', () => {
    const { program, args, env } = launch(['python', '-m', 'sglang.launch_server', '--model-path', 'm'])
    expect(program).toBe('python')
    expect(args.join(' ')).toBe(
      '-m sglang.launch_server --model-path m --host 127.0.0.1 --port 30003 --nccl-port 31003',
    )
    expect(env.CUDA_VISIBLE_DEVICES).toBe('3')
  })

  it('scenario 41: gives each GPU compile caches of its own', () => {
    const { env } = launch(['x'])
    expect(Object.values(env).filter((value) => value.startsWith('/cache/gpu-3/'))).toHaveLength(3)
  })

  it('never overrules what the command says', () => {
    expect(launch(['x', '--host=0.0.0.0', '--nccl-port', '5']).args.join(' ')).toBe(
      '--host=0.0.0.0 --nccl-port 5 --port 30003',
    )
  })

  it.each([
    ['0.5.12', '--mamba-radix-cache-strategy=no_buffer', '--mamba-scheduler-strategy=no_buffer'],
    ['0.5.23', '--mamba-scheduler-strategy', '--mamba-radix-cache-strategy'],
    ['0.5.23', '--mamba-radix-cache-strategy', '--mamba-radix-cache-strategy'],
  ])('for %s calls %s by its name of then', (version, given, expected) => {
    expect(launch(['x', given], version).args[0]).toBe(expected)
  })
})

describe('restarts', () => {
  const budget = { backOffMs: [0, 5_000, 15_000], restarts: 3, withinMs: 60_000, steadyAfterMs: 30_000 }

  it('wait longer each time in a row, and start anew after a steady time', () => {
    const plan = new RestartPlan({ ...budget, restarts: 100 })
    expect([plan.next(0), plan.next(1_000), plan.next(2_000), plan.next(3_000)]).toEqual([0, 5_000, 15_000, 15_000])
    plan.cameUp(20_000)
    expect(plan.next(60_000)).toBe(0)
  })

  it('stop for a while when there were too many, and go on after it', () => {
    const plan = new RestartPlan({ ...budget, backOffMs: [0] })
    expect([plan.next(0), plan.next(100), plan.next(200)]).toEqual([0, 0, 0])
    expect(plan.next(1_000)).toBe(59_000)
    expect(plan.next(200_000)).toBe(0)
  })
})

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-engine-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('scenario 42: the log of an engine that failed', () => {
  it.each([
    ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate', /GPU memory/],
    ['launch_server.py: error: unrecognized arguments: --foo', /flags/],
    ['OSError: [Errno 98] Address already in use', /port is taken/],
    ['RuntimeError: CUDA error: an illegal memory access was encountered', /kernel/],
    ['Scheduler hit an exception: Traceback', /scheduler crashed/],
    ['something else entirely', /something else entirely/],
  ])('%s', async (line, summary) => {
    const file = join(folder, 'log')
    await writeFile(file, `old line: CUDA out of memory\nloading\n${line}\n`)
    const diagnosis = await diagnose(file, 'old line: CUDA out of memory\n'.length)
    expect(diagnosis.summary).toMatch(summary)
    expect(diagnosis.tail).toEqual(['loading', line])
  })
})

describe('an engine process', () => {
  const events: string[] = []
  let engine: EngineProcess | undefined
  beforeEach(() => events.splice(0))
  afterEach(() => engine?.stop())

  /** Runs a script of Node as the server. */
  function run(script: string, overrides: Partial<EngineProcessOptions> = {}): EngineProcess {
    engine = new EngineProcess({
      launch: { program: process.execPath, args: ['-e', script], env: {} },
      env: process.env,
      logFile: join(folder, 'engine.log'),
      startDelayMs: 0,
      startLimitMs: 60_000,
      silenceLimitMs: 60_000,
      stopGraceMs: 200,
      budget: { backOffMs: [10], restarts: 100, withinMs: 1, steadyAfterMs: 1e9 },
      now: Date.now,
      log: (message, facts) =>
        events.push(`${message}${facts?.why ? `: ${facts.why}` : ''}${facts?.summary ? `: ${facts.summary}` : ''}`),
      ...overrides,
    })
    return engine
  }

  it('is started again after any exit, also a clean one, and says why it ended', async () => {
    run("console.log('No space, CUDA out of memory'); process.exit(0)")
    await expect.poll(() => events.filter((event) => event.startsWith('engine is starting')).length).toBeGreaterThan(2)
    expect(events.find((event) => event.startsWith('engine ended'))).toMatch(/GPU memory/)
  })

  it('is ended and started again on request, and by force when it does not go', async () => {
    const stubborn = run("process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)")
    await expect.poll(() => stubborn.pid).toBeDefined()
    const first = stubborn.pid
    await stubborn.restart('it hangs')
    await expect.poll(() => stubborn.pid !== undefined && stubborn.pid !== first).toBe(true)
  })

  it('may take long to load, but not in silence', async () => {
    run(
      "let n = 0; const t = setInterval(() => { console.log('layer', ++n); if (n === 20) clearInterval(t) }, 20); setInterval(() => {}, 1e6)",
      {
        silenceLimitMs: 300,
      },
    )
    await expect
      .poll(() => events.find((event) => event.includes('silent')), { timeout: 10_000 })
      .toMatch(/loading, and silent/)
    expect(events.filter((event) => event.startsWith('engine is starting'))).toHaveLength(1)
  })

  it('is left alone once it is well, however silent', async () => {
    const quiet = run('setInterval(() => {}, 1e6)', { silenceLimitMs: 100 })
    await expect.poll(() => quiet.pid).toBeDefined()
    quiet.isWell()
    expect(quiet.status).toMatch(/^up/)
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(events.filter((event) => event.includes('silent'))).toEqual([])
  })
})
