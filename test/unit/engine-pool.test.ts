import { beforeEach, describe, expect, it } from 'vitest'
import { assign } from '../../domain/assign-shards.ts'
import {
  addEngine,
  createPool,
  drainEngine,
  isFinished,
  isWaitingForEngines,
  nextDueAt,
  type Pool,
  type ProbeResult,
  probeEnded,
  probeStarted,
  probesDue,
  type ShardOutcome,
  setPaused,
  settleIdentity,
  shardCommitted,
  shardEnded,
  shardExhausted,
} from '../../domain/engine-pool.ts'

const options = {
  shards: 100,
  lanes: 2,
  probeBackOffMs: [1_000, 5_000],
  retryBackOffMs: [0],
  quarantineAfter: 3,
  maxShardFailures: 10,
}
const identity = { model: 'm', weightVersion: 'w' }
const well: ProbeResult = { answered: true, accepting: true, healthy: true, identity }

let now = 0
beforeEach(() => {
  now = 1_000_000
})

/** A pool whose engines have all been found well. */
function readyPool(engines: number, overrides: Partial<typeof options> = {}): Pool {
  const queues = Array.from({ length: engines }, (_, n) => `gpu-${n}`)
  const pool = createPool(
    { ...options, ...overrides },
    queues.map((queue) => ({ queue })),
    now,
  )
  for (const queue of queues) probe(pool, queue, well)
  return pool
}

function probe(pool: Pool, queue: string, result: ProbeResult, wantedModel?: string): void {
  probeStarted(pool, queue)
  probeEnded(pool, queue, result, now)
  settleIdentity(pool, wantedModel, now)
}

function end(pool: Pool, shard: number, outcome: ShardOutcome): void {
  const flight = pool.inFlight.find((candidate) => candidate.shard === shard)
  shardEnded(pool, { shard, epoch: flight?.epoch ?? 0, outcome }, now)
}

const stateOf = (pool: Pool, queue: string) => pool.engines.find((engine) => engine.queue === queue)?.state
const placed = (pool: Pool) => assign(pool, now).map(({ task, engine }) => [task.shard, engine])

describe('assigning shards', () => {
  it('gives nothing to engines that nobody has looked at', () => {
    const pool = createPool(options, [{ queue: 'gpu-0' }], now)
    expect(assign(pool, now)).toEqual([])
    expect(probesDue(pool, now)).toEqual(['gpu-0'])
  })

  it('fills every lane of every engine, spread evenly and in shard order', () => {
    expect(placed(readyPool(2))).toEqual([
      [0, 'gpu-0'],
      [1, 'gpu-1'],
      [2, 'gpu-0'],
      [3, 'gpu-1'],
    ])
  })

  it('gives a lane the next shard as soon as all prompts of its shard have been started', () => {
    const pool = readyPool(1)
    assign(pool, now)
    expect(placed(pool)).toEqual([])
    shardExhausted(pool, 0, 1)
    expect(placed(pool)).toEqual([[2, 'gpu-0']])
  })

  it('frees a lane at the end of the shard when nobody said that it was exhausted', () => {
    const pool = readyPool(1)
    assign(pool, now)
    end(pool, 1, 'committed')
    expect(placed(pool)).toEqual([[2, 'gpu-0']])
  })

  it('dispatches again what was handed back before anything new, with the next epoch', () => {
    const pool = readyPool(1)
    assign(pool, now)
    end(pool, 1, 'handedBack')
    expect(assign(pool, now)).toMatchObject([{ task: { shard: 1, epoch: 2 } }])
  })

  it('never gives out a shard that is done, in flight or waiting', () => {
    const pool = readyPool(1, { shards: 3 })
    shardCommitted(pool, 1)
    expect(placed(pool).map(([shard]) => shard)).toEqual([0, 2])
    expect(placed(pool)).toEqual([])
  })

  it('gives out nothing while paused', () => {
    const pool = readyPool(1)
    setPaused(pool, true)
    expect(assign(pool, now)).toEqual([])
    setPaused(pool, false)
    expect(assign(pool, now)).toHaveLength(2)
  })
})

describe('an engine in trouble', () => {
  it('scenario 5: gets no shard again before a probe has found it well', () => {
    const pool = readyPool(2)
    assign(pool, now)
    end(pool, 0, 'engineLost')
    expect(stateOf(pool, 'gpu-0')).toBe('suspect')
    end(pool, 2, 'engineLost')
    end(pool, 1, 'committed')
    expect(placed(pool)).toEqual([[0, 'gpu-1']])
    now += options.probeBackOffMs[0]!
    expect(probesDue(pool, now)).toEqual(['gpu-0'])
    probe(pool, 'gpu-0', well)
    expect(placed(pool).map(([, engine]) => engine)).toEqual(['gpu-0', 'gpu-0'])
  })

  it('is probed with longer and longer waits', () => {
    const pool = readyPool(1)
    probe(pool, 'gpu-0', { answered: false, why: 'x' })
    expect(nextDueAt(pool, now)).toBe(now + 1_000)
    now += 1_000
    probe(pool, 'gpu-0', { answered: false, why: 'x' })
    expect(nextDueAt(pool, now)).toBe(now + 5_000)
    expect(stateOf(pool, 'gpu-0')).toBe('offline')
  })

  it('scenario 36: busy is not dead: no strike, and work again as soon as there is a place', () => {
    const pool = readyPool(1)
    assign(pool, now)
    end(pool, 0, 'notStarted')
    probe(pool, 'gpu-0', { ...well, accepting: false } as ProbeResult)
    expect(pool.engines[0]).toMatchObject({ state: 'busy', strikes: 0 })
    probe(pool, 'gpu-0', well)
    expect(placed(pool)).toEqual([[0, 'gpu-0']])
  })

  it('whose worker left in good order gets no strike', () => {
    const pool = readyPool(2)
    assign(pool, now)
    end(pool, 0, 'workerLeft')
    expect(pool.engines[0]).toMatchObject({ state: 'suspect', strikes: 0 })
    expect(pool.waiting[0]).toMatchObject({ shard: 0, failedOn: [] })
  })

  it('makes the run wait, visibly, when no other is left', () => {
    const pool = readyPool(1)
    assign(pool, now)
    expect(isWaitingForEngines(pool)).toBe(false)
    end(pool, 0, 'engineLost')
    expect(isWaitingForEngines(pool)).toBe(true)
    expect(isFinished(pool)).toBe(false)
  })
})

describe('a shard that fails', () => {
  it('goes to an engine that has not failed it', () => {
    const pool = readyPool(2, { shards: 1 })
    expect(placed(pool)).toEqual([[0, 'gpu-0']])
    end(pool, 0, 'failed')
    expect(placed(pool)).toEqual([[0, 'gpu-1']])
  })

  it('waits for such an engine rather than go back to the one that failed it', () => {
    const pool = readyPool(2)
    assign(pool, now)
    end(pool, 0, 'failed')
    expect(placed(pool).filter(([shard]) => shard === 0)).toEqual([])
    end(pool, 1, 'committed')
    expect(placed(pool)).toContainEqual([0, 'gpu-1'])
  })

  it('scenario 44: is set aside after three engines, and the run goes on', () => {
    const pool = readyPool(4, { shards: 2 })
    for (let n = 0; n < 3; n++) {
      assign(pool, now)
      end(pool, 0, 'failed')
    }
    expect(pool.quarantined).toMatchObject([{ shard: 0, failures: 3 }])
    end(pool, 1, 'committed')
    shardCommitted(pool, 0)
    expect(isFinished(pool)).toBe(true)
  })

  it('is set aside where there are too few engines, too, and not tried for ever', () => {
    const pool = readyPool(1, { shards: 1 })
    for (let n = 0; n < 10; n++) {
      expect(assign(pool, now)).toHaveLength(1)
      end(pool, 0, 'failed')
    }
    expect(assign(pool, now)).toEqual([])
    expect(pool.quarantined).toHaveLength(1)
  })

  it('is held back for a while, and time alone brings it up again', () => {
    const pool = readyPool(1, { shards: 1, retryBackOffMs: [2_000] })
    assign(pool, now)
    end(pool, 0, 'failed')
    expect(assign(pool, now)).toEqual([])
    expect(nextDueAt(pool, now)).toBe(now + 2_000)
    now += 2_000
    expect(assign(pool, now)).toHaveLength(1)
  })

  it('may leave prompts for another engine only where there is one', () => {
    const alone = readyPool(1, { shards: 1 })
    expect(assign(alone, now)).toMatchObject([{ canDefer: false }])
    const pool = readyPool(2, { shards: 1 })
    expect(assign(pool, now)).toMatchObject([{ engine: 'gpu-0', canDefer: true }])
    end(pool, 0, 'deferred')
    expect(assign(pool, now)).toMatchObject([{ engine: 'gpu-1', canDefer: false, task: { failures: 0 } }])
  })
})

describe('reports', () => {
  it('of an earlier dispatch change nothing, unless they say that the shard is committed', () => {
    const pool = readyPool(2, { shards: 1 })
    assign(pool, now)
    end(pool, 0, 'engineLost')
    assign(pool, now)
    shardEnded(pool, { shard: 0, epoch: 1, outcome: 'failed' }, now)
    expect(pool.inFlight).toMatchObject([{ shard: 0, epoch: 2 }])
    shardEnded(pool, { shard: 0, epoch: 1, outcome: 'committed' }, now)
    expect(isFinished(pool)).toBe(true)
    expect(pool.inFlight).toEqual([])
  })

  it('are heard twice without harm', () => {
    const pool = readyPool(1)
    assign(pool, now)
    end(pool, 0, 'committed')
    shardEnded(pool, { shard: 0, epoch: 1, outcome: 'committed' }, now)
    expect(pool.done).toEqual([[0, 0]])
  })
})

describe('scenario 56: an engine that serves something else', () => {
  const other = { ...well, identity: { model: 'other', weightVersion: 'w' } } as ProbeResult

  it('is refused, and says what it serves', () => {
    const pool = createPool(options, [{ queue: 'gpu-0' }, { queue: 'gpu-1' }, { queue: 'gpu-2' }], now)
    probe(pool, 'gpu-0', other)
    probe(pool, 'gpu-1', well)
    probe(pool, 'gpu-2', well)
    expect(pool.identity).toEqual(identity)
    expect(pool.engines[0]).toMatchObject({
      state: 'refused',
      why: expect.stringContaining('it serves other (weights w)'),
    })
  })

  it('is taken back when it serves the right thing at a later probe', () => {
    const pool = readyPool(2)
    probe(pool, 'gpu-1', other)
    expect(stateOf(pool, 'gpu-1')).toBe('refused')
    now = nextDueAt(pool, now) ?? now
    expect(probesDue(pool, now)).toEqual(['gpu-1'])
    probe(pool, 'gpu-1', well)
    expect(stateOf(pool, 'gpu-1')).toBe('ready')
  })

  it('is refused when the spec names the model, even if most serve it', () => {
    const pool = createPool(options, [{ queue: 'gpu-0' }, { queue: 'gpu-1' }, { queue: 'gpu-2' }], now)
    for (const queue of ['gpu-0', 'gpu-1']) probe(pool, queue, other, 'm')
    probe(pool, 'gpu-2', well, 'm')
    expect(pool.engines.map((engine) => engine.state)).toEqual(['refused', 'refused', 'ready'])
  })

  it('does not keep the others waiting when it is the only one to answer wrongly', () => {
    const pool = createPool(options, [{ queue: 'gpu-0' }, { queue: 'gpu-1' }], now)
    probe(pool, 'gpu-0', well)
    expect(assign(pool, now)).toEqual([])
    probe(pool, 'gpu-1', { answered: false, why: 'down' })
    expect(assign(pool, now)).toHaveLength(2)
  })
})

describe('engines that come and go', () => {
  it('are added in flight, and used once they are found well', () => {
    const pool = readyPool(1)
    assign(pool, now)
    addEngine(pool, 'gpu-9', now)
    probe(pool, 'gpu-9', well)
    expect(placed(pool).map(([, engine]) => engine)).toEqual(['gpu-9', 'gpu-9'])
  })

  it('get nothing new while they drain, also when a probe comes in late', () => {
    const pool = readyPool(2)
    assign(pool, now)
    drainEngine(pool, 'gpu-0', now)
    probeEnded(pool, 'gpu-0', well, now)
    end(pool, 0, 'handedBack')
    end(pool, 2, 'handedBack')
    expect(assign(pool, now)).toEqual([])
    addEngine(pool, 'gpu-0', now)
    probe(pool, 'gpu-0', well)
    expect(placed(pool)).toEqual([
      [0, 'gpu-0'],
      [2, 'gpu-0'],
    ])
  })
})

describe('whatever happens', () => {
  /** A small generator, so that a failure can be run again. */
  function random(seed: number): () => number {
    let state = seed
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state / 2 ** 32
    }
  }

  it.each(Array.from({ length: 200 }, (_, n) => n))(
    'no shard is on two engines, and all get done (seed %i)',
    (seed) => {
      const chance = random(seed + 1)
      const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)]!
      const pool = readyPool(1 + Math.floor(chance() * 5), { shards: 30, retryBackOffMs: [0, 500] })
      const sealed = new Set<number>()
      for (let step = 0; !isFinished(pool); step++) {
        expect(step).toBeLessThan(20_000)
        now += Math.floor(chance() * 2_000)
        assign(pool, now)
        const inFlight = pool.inFlight.map((flight) => flight.shard)
        expect(new Set(inFlight).size).toBe(inFlight.length)
        for (const engine of pool.engines) {
          const held = pool.inFlight.filter((flight) => flight.engine === engine.queue && !flight.isExhausted)
          expect(held.length).toBeLessThanOrEqual(options.lanes)
        }
        for (const queue of probesDue(pool, now)) {
          probe(
            pool,
            queue,
            chance() < 0.7
              ? well
              : pick<ProbeResult>([{ answered: false, why: '' }, { ...well, accepting: false } as ProbeResult]),
          )
        }
        const flight = pool.inFlight.length > 0 && pick(pool.inFlight)
        if (flight && chance() < 0.3) shardExhausted(pool, flight.shard, flight.epoch)
        const outcomes: ShardOutcome[] = [
          'committed',
          'committed',
          'committed',
          'handedBack',
          'deferred',
          'notStarted',
          'engineLost',
          'workerLeft',
          'failed',
        ]
        if (flight && chance() < 0.7) end(pool, flight.shard, pick(outcomes))
        for (const { shard } of [...pool.quarantined]) {
          expect(sealed.has(shard)).toBe(false)
          sealed.add(shard)
          shardCommitted(pool, shard)
        }
      }
      expect(pool.done).toEqual([[0, 29]])
      expect([pool.inFlight, pool.waiting, pool.quarantined]).toEqual([[], [], []])
    },
  )
})
