import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lockFile } from '../../store/file-lock.ts'
import { FileStore } from '../../store/file-store.ts'
import { keysOf, sha256, textOf } from './store-arrange.ts'
import type { Order, Report } from './store-writer.ts'

const writers = Array.from({ length: 8 }, (_, writer) => writer)
const rounds = 50
const kills = 40

let folder: string
let script: string
const running = new Set<ChildProcess>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-crash-'))
  await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      ssr: fileURLToPath(new URL('store-writer.ts', import.meta.url)),
      outDir: join(folder, 'script'),
      rollupOptions: { output: { entryFileNames: 'writer.mjs' } },
    },
  })
  script = join(folder, 'script', 'writer.mjs')
})

afterAll(async () => {
  const exits = [...running].map((child) => once(child, 'exit'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(exits)
  await rm(folder, { recursive: true, force: true })
})

describe('separate processes that write the same file', () => {
  it(`have one winner of ${writers.length} at writing once, ${rounds} times`, async () => {
    const root = join(folder, 'once')
    const store = new FileStore(root)
    const children = writers.map((writer) => startWriter(root, `${writer}`))
    for (let round = 0; round < rounds; round++) {
      const key = `folder-${round % 5}/round-${round}`
      const reports = await Promise.all(
        children.map((child, writer) => ask(child, { do: 'put', key, content: `writer ${writer}`, onlyIf: 'absent' })),
      )
      expect(await textOf(store, key)).toBe(`writer ${soleWinner(reports)}`)
    }
    for (const child of children) child.kill('SIGKILL')
  })

  it(`have one winner of ${writers.length} at swapping, ${rounds} times`, async () => {
    const root = join(folder, 'swap')
    const store = new FileStore(root)
    const children = writers.map((writer) => startWriter(root, `${writer}`))
    let { etag } = await store.put('object', 'start')
    for (let round = 0; round < rounds; round++) {
      const reports = await Promise.all(
        children.map((child, writer) =>
          ask(child, { do: 'put', key: 'object', content: `round ${round} writer ${writer}`, onlyIf: { etag } }),
        ),
      )
      expect(await textOf(store, 'object')).toBe(`round ${round} writer ${soleWinner(reports)}`)
      etag = (await store.head('object'))?.etag ?? ''
    }
    for (const child of children) child.kill('SIGKILL')
  })
})

describe('a process killed while it writes', () => {
  it(`leaves nothing half visible and takes nothing acknowledged along, ${kills} times`, async () => {
    const root = join(folder, 'killed')
    const store = new FileStore(root)
    await store.put('counter', '0')
    const acknowledged = new Map<string, { sha256: string; turn: number }>()
    let counted = 0
    let started = 0
    const live = async (): Promise<void> => {
      while (started < kills) {
        const child = startWriter(root, `writer-${started++}`)
        let left = Math.floor(Math.random() * 25)
        child.on('message', (report: Report) => {
          if ('failed' in report) throw new Error(report.failed)
          if (!('acknowledged' in report)) return
          if (report.acknowledged === 'counted') counted++
          else acknowledged.set(report.key, report)
          // At any moment of the next few writes.
          if (left-- === 0) setTimeout(() => child.kill('SIGKILL'), Math.random() * 8)
        })
        child.send({ do: 'write' } satisfies Order)
        await once(child, 'exit')
      }
    }
    await Promise.all([live(), live(), live()])

    for (const key of await keysOf(store)) {
      if (key === 'counter') continue
      const [turn, hash, filling = ''] = (await textOf(store, key)).split('\n')
      expect(sha256(filling)).toBe(hash)
      const known = acknowledged.get(key)
      // Newer than what was acknowledged last, if the writer died before it could say so; never older.
      if (known) expect(Number(turn)).toBeGreaterThanOrEqual(known.turn)
      acknowledged.delete(key)
    }
    expect([...acknowledged.keys()]).toEqual([])
    const counter = Number(await textOf(store, 'counter'))
    expect(counter).toBeGreaterThanOrEqual(counted)
    expect(counter).toBeLessThanOrEqual(counted + kills)

    await store.collectLeftovers('', { olderThanMs: 3_600_000 })
    const hidden = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.includes('.~longhaul-'),
    )
    expect(hidden).toEqual([])
  }, 120_000)

  it('does not keep its lock', async () => {
    const path = join(folder, 'locks', 'lock')
    await mkdir(join(folder, 'locks'))
    const child = startWriter(join(folder, 'locks'), 'holder')
    expect(await ask(child, { do: 'hold', path })).toEqual({ held: path })
    let isTaken = false
    const taking = lockFile(path).then((lock) => {
      isTaken = true
      return lock
    })
    // The lock is respected as long as its holder lives.
    await expect(lockFile(path, { signal: AbortSignal.timeout(200) })).rejects.toThrow('timeout')
    expect(isTaken).toBe(false)
    child.kill('SIGKILL')
    await (await taking).release()
    expect(readdirSync(join(folder, 'locks'))).toEqual([])
  })

  it('does not keep its lock from many who wait for it', async () => {
    const path = join(folder, 'contended', 'lock')
    await mkdir(join(folder, 'contended'))
    let inside = 0
    let entered = 0
    for (let round = 0; round < 5; round++) {
      const child = startWriter(join(folder, 'contended'), 'holder')
      await ask(child, { do: 'hold', path })
      const waiting = writers.map(async () => {
        const lock = await lockFile(path)
        expect(++inside).toBe(1)
        entered++
        await new Promise((resolve) => setImmediate(resolve))
        inside--
        await lock.release()
      })
      child.kill('SIGKILL')
      await Promise.all(waiting)
    }
    expect(entered).toBe(5 * writers.length)
    expect(readdirSync(join(folder, 'contended'))).toEqual([])
  })
})

function startWriter(root: string, name: string): ChildProcess {
  const child = fork(script, [root, name])
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

async function ask(child: ChildProcess, order: Order): Promise<Report> {
  child.send(order)
  const [report] = (await once(child, 'message')) as [Report]
  if ('failed' in report) throw new Error(report.failed)
  return report
}

function soleWinner(reports: Report[]): number {
  const won = reports.flatMap((report, writer) => ('put' in report && report.put === 'won' ? [writer] : []))
  expect(won.length).toBe(1)
  return won[0] ?? -1
}
