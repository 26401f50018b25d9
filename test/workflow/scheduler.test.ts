import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApplicationFailure } from '@temporalio/common'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { failureTypes, workflowIds } from '../../domain/dispatch.ts'
import type { TemporalServer } from '../../servers/temporal-server.ts'
import type { GenerateInput } from '../../workflows/generate.ts'
import {
  addEngineSignal,
  addEngineUpdate,
  drainEngineSignal,
  drainEngineUpdate,
  pauseSignal,
  pauseUpdate,
  progressQuery,
  resumeSignal,
  setConcurrencySignal,
  setConcurrencyUpdate,
  stopSignal,
  stopUpdate,
} from '../../workflows/generate-messages.ts'
import { quickTimings, startTemporal } from '../harness/cluster.ts'
import { FakeEngines, identity, type Treat } from '../harness/fake-engines.ts'

let home: string
let temporal: TemporalServer
let fakes: FakeEngines
let runs = 0

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'longhaul-scheduler-'))
  // Small enough that a run of some shards hands over to several fresh histories.
  temporal = await startTemporal(home, { 'limit.historyCount.suggestContinueAsNew': 150 })
})
afterAll(async () => {
  await temporal?.stop()
  await rm(home, { recursive: true, force: true })
})
afterEach(() => fakes?.stop())

interface Options {
  shards: number
  engines: number
  lanes?: number
  timings?: Partial<typeof quickTimings>
}

/** Starts a scheduler with fake engines of its own. */
async function schedule({ shards, engines, lanes = 2, timings = {} }: Options, treat?: Treat) {
  const run = `r${++runs}`
  const queues = Array.from({ length: engines }, (_, n) => `${run}-gpu-${n}`)
  fakes = await FakeEngines.start(temporal.address, { shards, taskQueue: run, queues })
  if (treat) fakes.treat = treat
  const input: GenerateInput = {
    ref: { run, store: 'file:///nowhere', specHash: '' },
    spec: {
      engines: queues.map((queue) => ({ queue })),
      lanes,
      timings: { ...quickTimings, heartbeatSeconds: 2, scheduleToStartSeconds: 2, ...timings },
    },
  }
  const handle = await fakes.client.workflow.start('generate', {
    taskQueue: run,
    workflowId: workflowIds.generate(run),
    args: [input],
  })
  return { run, queues, handle, progress: () => handle.query(progressQuery) }
}

const all = (shards: number) => Array.from({ length: shards }, (_, n) => n)
const dispatched = () => fakes.dispatches.map(({ shard }) => shard)
const committed = () => [...fakes.committed].sort((a, b) => a - b)

/** A promise that the test resolves. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

describe('the scheduler', () => {
  it('gives every shard to an engine once and ends when all are committed', async () => {
    const { handle } = await schedule({ shards: 12, engines: 3 })
    await handle.result()
    expect(committed()).toEqual(all(12))
    expect(dispatched().sort((a, b) => a - b)).toEqual(all(12))
  })

  it('scenario 37: continues as new without a bubble, and carries everything over', async () => {
    const { handle, run } = await schedule({ shards: 60, engines: 3 })
    await handle.result()
    expect(committed()).toEqual(all(60))
    expect(dispatched().sort((a, b) => a - b)).toEqual(all(60))
    const histories = []
    for await (const { runId } of fakes.client.workflow.list({ query: `WorkflowId = '${workflowIds.generate(run)}'` }))
      histories.push(runId)
    expect(histories.length).toBeGreaterThan(1)
    for (const runId of histories) {
      const { historyLength } = await fakes.client.workflow.getHandle(workflowIds.generate(run), runId).describe()
      expect(historyLength).toBeLessThan(400)
    }
  })

  it('takes over what is committed already', async () => {
    const run = `r${runs + 1}`
    const started = schedule({ shards: 6, engines: 1 })
    await expect.poll(() => fakes?.taskQueue).toBe(run)
    for (const shard of [0, 1, 4]) fakes.committed.add(shard)
    const { handle } = await started
    await handle.result()
    expect(committed()).toEqual(all(6))
  })
})

describe('scenario 5: an engine that is lost', () => {
  it('gives its shards to others with the next epoch, and gets work again when it is back', async () => {
    let isLost = true
    const { handle, queues } = await schedule({ shards: 12, engines: 2 }, async ({ engine }) => {
      if (isLost && engine.endsWith('gpu-0')) throw ApplicationFailure.nonRetryable('gone', failureTypes.engineLost)
      if (!isLost) return undefined
      await new Promise((resolve) => setTimeout(resolve, 20))
      return undefined
    })
    const hasTriedFirst = () => fakes.dispatches.some(({ engine }) => engine === queues[0])
    fakes.probe = async (queue) =>
      isLost && queue === queues[0] && hasTriedFirst()
        ? { answered: true, accepting: false, healthy: false, why: 'down' }
        : { answered: true, accepting: true, healthy: true, identity }
    await expect
      .poll(() => fakes.dispatches.some(({ engine, epoch }) => engine === queues[1] && epoch === 2))
      .toBe(true)
    isLost = false
    await handle.result()
    expect(committed()).toEqual(all(12))
  })

  it('is found by its silence, without anybody saying so', async () => {
    const { handle, queues, progress } = await schedule({ shards: 4, engines: 2 })
    await fakes.removeEngine(queues[0]!)
    await expect.poll(async () => (await progress()).engines[0]?.state, { timeout: 30_000 }).toMatch(/suspect|offline/)
    await handle.result()
    expect(committed()).toEqual(all(4))
  })
})

describe('a shard that fails everywhere', () => {
  it('is sealed after three engines, and the run goes on', async () => {
    const { handle } = await schedule({ shards: 5, engines: 4 }, async ({ shard }) => {
      if (shard === 2) throw ApplicationFailure.nonRetryable('poison')
      return undefined
    })
    await handle.result()
    expect(fakes.sealed).toEqual([2])
    const tries = fakes.dispatches.filter(({ shard }) => shard === 2)
    expect(new Set(tries.map(({ engine }) => engine)).size).toBe(3)
  })
})

describe('an engine with the wrong model', () => {
  it('gets no shard and says why', async () => {
    const release = gate()
    const started = schedule({ shards: 4, engines: 3 }, async () => {
      await release.opened
      return undefined
    })
    await expect.poll(() => fakes?.taskQueue).toBe(`r${runs}`)
    fakes.probe = async (queue) => ({
      ...{ answered: true as const, accepting: true, healthy: true },
      identity: queue.endsWith('gpu-1') ? { model: 'other', weightVersion: 'default' } : identity,
    })
    const { handle, progress } = await started
    await expect.poll(async () => (await progress()).engines[1]?.state).toBe('refused')
    expect((await progress()).engines[1]?.why).toMatch(/serves other/)
    release.open()
    await handle.result()
    expect(fakes.dispatches.filter(({ engine }) => engine.endsWith('gpu-1'))).toEqual([])
  })
})

describe('controls, by signal and by update', () => {
  it('pause hands back and dispatches nothing; resume goes on', async () => {
    const release = gate()
    const { handle, progress } = await schedule({ shards: 6, engines: 1 }, async () => {
      await release.opened
      return fakes.released.length === 1 ? { unstarted: 3 } : undefined
    })
    await expect.poll(() => fakes.dispatches.length).toBe(2)
    const answer = await handle.executeUpdate(pauseUpdate)
    expect(answer.status).toBe('paused')
    expect(fakes.released).toHaveLength(1)
    release.open()
    await expect.poll(async () => (await progress()).shards).toMatchObject({ inFlight: 0, waiting: 2 })
    expect(fakes.dispatches).toHaveLength(2)
    fakes.released.push('from now on shards are finished')
    await handle.signal(resumeSignal)
    await handle.result()
    expect(committed()).toEqual(all(6))
    expect(fakes.statuses).toContain('paused')
  })

  it('pause works by signal as well', async () => {
    const { handle, progress } = await schedule({ shards: 3, engines: 1 })
    await handle.signal(pauseSignal)
    await handle.signal(resumeSignal)
    await handle.result()
    expect(committed()).toEqual(all(3))
    expect((await progress()).status).toBe('generating')
  })

  it('an engine that drains gets nothing new, and another can be added in flight', async () => {
    const release = gate()
    const { handle, queues, run, progress } = await schedule({ shards: 8, engines: 1 }, async ({ engine }) => {
      if (engine.endsWith('gpu-0')) {
        await release.opened
        return { unstarted: 1 }
      }
      return undefined
    })
    await expect.poll(() => fakes.dispatches.length).toBe(2)
    await handle.signal(drainEngineSignal, { engine: queues[0]! })
    release.open()
    await expect.poll(async () => (await progress()).engines[0]?.state).toBe('draining')
    await fakes.addEngine(`${run}-gpu-9`)
    const answer = await handle.executeUpdate(addEngineUpdate, { args: [{ engine: `${run}-gpu-9` }] })
    expect(answer.engines.map(({ queue }) => queue)).toContain(`${run}-gpu-9`)
    await handle.result()
    expect(committed()).toEqual(all(8))
    expect(fakes.dispatches.slice(2).every(({ engine }) => engine.endsWith('gpu-9'))).toBe(true)
  })

  it('waits visibly when no engine is left, and goes on when one comes', async () => {
    const { handle, queues, run, progress } = await schedule({ shards: 3, engines: 1 })
    await handle.signal(drainEngineSignal, { engine: queues[0]! })
    await fakes.addEngine(`${run}-new`)
    await handle.signal(addEngineSignal, { engine: `${run}-new` })
    await handle.result()
    expect(committed()).toEqual(all(3))
    expect((await progress()).shards.done).toBe(3)
  })
})

describe('a shard whose workflow is gone', () => {
  it('is found by looking, and dispatched again', async () => {
    const release = gate()
    let isFirst = true
    const { handle, run } = await schedule({ shards: 2, engines: 1, timings: { reconcileSeconds: 1 } }, async () => {
      if (isFirst) await release.opened
      return undefined
    })
    await expect.poll(() => fakes.dispatches.length).toBe(2)
    isFirst = false
    await fakes.client.workflow.getHandle(workflowIds.shard(run, '00000')).terminate('by hand')
    await expect.poll(() => fakes.dispatches.filter(({ shard }) => shard === 0).length, { timeout: 20_000 }).toBe(2)
    release.open()
    await handle.result()
    expect(committed()).toEqual(all(2))
  })
})

describe('cancelling', () => {
  it('cancels every dispatch and ends only when none is left', async () => {
    const { handle, run } = await schedule({ shards: 4, engines: 2, lanes: 1 }, async () => {
      const { Context } = await import('@temporalio/activity')
      await Context.current().cancelled
      return undefined
    })
    await expect.poll(() => fakes.dispatches.length).toBe(2)
    await handle.cancel()
    await expect(handle.result()).rejects.toThrow()
    expect((await handle.describe()).status.name).toBe('CANCELLED')
    for (const shard of ['00000', '00001']) {
      expect((await fakes.client.workflow.getHandle(workflowIds.shard(run, shard)).describe()).status.name).not.toBe(
        'RUNNING',
      )
    }
  })
})

describe('stopping', () => {
  it('keeps what half-done shards have, ends before all is committed, and says so', async () => {
    const release = gate()
    const { handle } = await schedule({ shards: 6, engines: 1 }, async () => {
      await release.opened
      return { unstarted: 2 }
    })
    await expect.poll(() => fakes.dispatches.length).toBe(2)
    await handle.executeUpdate(stopUpdate, { args: [{ graceSeconds: 30 }] })
    expect(fakes.released).toHaveLength(1)
    release.open()
    expect(await handle.result()).toEqual({ isStopped: true })
    expect(fakes.kept.sort()).toEqual([0, 1])
    expect(fakes.dispatches).toHaveLength(2)
  })

  it('by signal, without waiting for what is in flight, gives that up', async () => {
    const { handle } = await schedule({ shards: 4, engines: 1 }, async () => {
      const { Context } = await import('@temporalio/activity')
      await Context.current().cancelled
      return undefined
    })
    await expect.poll(() => fakes.dispatches.length).toBe(2)
    await handle.signal(stopSignal, { graceSeconds: 0 })
    expect(await handle.result()).toEqual({ isStopped: true })
  })
})

describe('a control that makes no sense', () => {
  it('is refused as an update and passed over as a signal', async () => {
    const { handle } = await schedule({ shards: 2, engines: 1 })
    await expect(handle.executeUpdate(drainEngineUpdate, { args: [{} as never] })).rejects.toThrow(
      /Workflow Update failed/,
    )
    await handle.signal(drainEngineSignal.name, 'gpu-0')
    await handle.signal(setConcurrencySignal.name)
    await handle.result()
    expect(committed()).toEqual(all(2))
  })
})

it('the concurrency of an engine goes with its dispatches and is told at once', async () => {
  const release = gate()
  const { handle, queues } = await schedule({ shards: 4, engines: 1, lanes: 1 }, async () => {
    await release.opened
    return undefined
  })
  await expect.poll(() => fakes.dispatches.length).toBe(1)
  await handle.executeUpdate(setConcurrencyUpdate, { args: [{ engine: queues[0]!, concurrency: 12 }] })
  expect(fakes.concurrency).toEqual([12])
  release.open()
  await handle.result()
  expect(fakes.dispatches.map(({ concurrency }) => concurrency)).toEqual([undefined, 12, 12, 12])
})
