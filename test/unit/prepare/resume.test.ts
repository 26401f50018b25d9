import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MockActivityEnvironment } from '@temporalio/testing'
import { describe, expect, it } from 'vitest'
import { createPrepareActivities } from '../../../activities/prepare/prepare-activities.ts'
import type { PrepareProgress } from '../../../activities/prepare/prepare-progress.ts'
import type { PrepareTasks } from '../../../activities/prepare/prepare-tasks.ts'
import { prepareTasks } from '../../../activities/prepare/prepare-tasks.ts'
import type { StartTasks } from '../../../activities/prepare/prepare-threads.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { prepared, temporaryFolder } from './prepared.ts'

const sizes = { blockBytes: 2000, spillBytes: 4000, sliceBytes: 3000, rangeRows: 50 }

/** Three files of 100 rows, some bad, some twice. */
function sources(): string[] {
  const folder = temporaryFolder()
  return ['a', 'b', 'c'].map((name) => {
    const rows = Array.from({ length: 100 }, (_, n) =>
      n % 25 === 7 ? '{"bad"' : JSON.stringify({ prompt: `${name} ${n % 90} ${'x'.repeat(50)}` }),
    )
    const path = join(folder, `${name}.jsonl`)
    writeFileSync(path, `${rows.join('\n')}\n`)
    return path
  })
}

/** Tasks that run here, counted, one after the other; `onScan` may throw. */
function watchedTasks(onScan: (batch: number) => void): { startTasks: StartTasks; scanned: number[] } {
  const scanned: number[] = []
  const startTasks: StartTasks = (context) => {
    const tasks: PrepareTasks = prepareTasks(context)
    let last: Promise<unknown> = Promise.resolve()
    const scan: PrepareTasks['scan'] = (input) => {
      const next = last.then(() => {
        onScan(input.batch)
        scanned.push(input.batch)
        return tasks.scan(input)
      })
      last = next.catch(() => {})
      return next
    }
    return { tasks: { ...tasks, scan }, close: async () => {} }
  }
  return { startTasks, scanned }
}

describe('an attempt after a crash', () => {
  it('scans only what the one before had not finished, and gives the same plan', async () => {
    const spec = { sources: sources() }
    const undisturbed = await prepared(spec, { sizes })
    const root = temporaryFolder()
    const first = watchedTasks((batch) => {
      if (batch === 7) throw new Error('crashed')
    })
    await expect(prepared(spec, { sizes, root, deps: { startTasks: first.startTasks, threads: 1 } })).rejects.toThrow(
      'crashed',
    )
    const second = watchedTasks(() => {})
    const resumed = await prepared(spec, { sizes, root, deps: { startTasks: second.startTasks, threads: 1 } })
    expect(Math.min(...second.scanned)).toBeGreaterThanOrEqual(6)
    expect(new Set([...first.scanned, ...second.scanned]).size).toBe(Math.max(...second.scanned) + 1)
    expect(resumed.files()).toEqual(undisturbed.files())
  })

  it('begins anew when a source has changed meanwhile', async () => {
    const uris = sources()
    const root = temporaryFolder()
    const first = watchedTasks((batch) => {
      if (batch === 7) throw new Error('crashed')
    })
    await expect(prepared({ sources: uris }, { sizes, root, deps: first })).rejects.toThrow('crashed')
    writeFileSync(uris[0]!, `${JSON.stringify({ prompt: 'another beginning' })}\n`)
    const second = watchedTasks(() => {})
    const { prompts } = await prepared({ sources: uris }, { sizes, root, deps: second })
    expect(second.scanned).toContain(0)
    expect(prompts.filter(({ source }) => source === 'a')).toHaveLength(1)
  })

  it('leaves no scratch files behind once the plan is made', async () => {
    const root = temporaryFolder()
    await prepared({ sources: sources() }, { sizes, root })
    expect(readdirSync(join(root, 'scratch'))).toEqual([])
  })

  it('refuses to write a plan over another one', async () => {
    const root = temporaryFolder()
    const [a, b] = sources()
    await prepared({ sources: [a] }, { root })
    rmSync(join(root, 'store/runs/r/plan.json'))
    await expect(prepared({ sources: [b] }, { root })).rejects.toThrow('is written once and holds other content')
  })
})

describe('progress', () => {
  it('goes through the phases, with rows, bytes and an estimate of the time left', async () => {
    const seen: PrepareProgress[] = []
    await prepared({ sources: sources() }, { sizes, onProgress: (progress) => seen.push(progress) })
    expect([...new Set(seen.map(({ phase }) => phase))]).toEqual(['listing', 'reading', 'ordering', 'writing'])
    const reading = seen.filter(({ phase }) => phase === 'reading')
    expect(reading.at(-1)).toMatchObject({ rowsRead: 300, etaSeconds: 0 })
    expect(reading.at(-1)?.done).toBe(reading.at(-1)?.total)
  })

  it('does not change the result when somebody stops it', async () => {
    const abort = new AbortController()
    const spec = { sources: sources() }
    const root = temporaryFolder()
    const stopped = prepared(spec, {
      sizes,
      root,
      signal: abort.signal,
      onProgress: ({ rowsRead }) => {
        if (rowsRead > 100) abort.abort(new Error('cancelled by its user'))
      },
    })
    await expect(stopped).rejects.toThrow('cancelled by its user')
    expect(readdirSync(join(root, 'store/runs/r'))).toEqual(['spec.json'])
    const again = await prepared(spec, { sizes, root })
    expect(again.files()).toEqual((await prepared(spec, { sizes })).files())
  })
})

describe('the activity', () => {
  const activities = (root: string) =>
    createPrepareActivities({ openStore: createOpenStore(), scratch: join(root, 'scratch'), threads: 1 })

  it('answers with the plan that is there, and fails for good on another spec', async () => {
    const root = temporaryFolder()
    const { summary } = await prepared({ sources: sources() }, { root })
    const { prepare } = activities(root)
    const environment = new MockActivityEnvironment()
    const input = { run: 'r', store: `file://${join(root, 'store')}`, specHash: 'h' }
    expect(await environment.run(prepare, input)).toEqual(summary)
    await expect(environment.run(prepare, { ...input, specHash: 'other' })).rejects.toMatchObject({
      type: 'AnotherSpec',
      nonRetryable: true,
    })
  })

  it('names the file that cannot be read, and is not tried again', async () => {
    const root = temporaryFolder()
    const uri = join(root, 'broken.json')
    writeFileSync(uri, '[{"prompt":"a"}')
    await expect(prepared({ sources: [uri] }, { root })).rejects.toThrow()
    const run = new MockActivityEnvironment().run(activities(root).prepare, {
      run: 'r',
      store: `file://${join(root, 'store')}`,
      specHash: 'h',
    })
    await expect(run).rejects.toMatchObject({
      type: 'BadFile',
      nonRetryable: true,
      message: `${uri} ends too early: the array does not end, at byte 15`,
    })
  })

  it('does not begin a run whose sources give nothing', async () => {
    const uri = join(temporaryFolder(), 'rows.jsonl')
    writeFileSync(uri, '{"headline":"a"}\n{"headline":"b"}\n')
    await expect(prepared({ sources: [uri] })).rejects.toThrow(
      'The sources give no prompt at all: rows: 2 rows read, 2 no_known_columns',
    )
  })
})
