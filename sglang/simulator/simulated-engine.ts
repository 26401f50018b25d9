import type { EngineCounters } from './engine/engine.ts'
import { EngineProcess } from './engine-process.ts'
import type { FaultStatus } from './faults/registry.ts'
import type { FaultSpec } from './faults/triggers.ts'
import type { SimulatedEngineOptions } from './options.ts'

export type { FaultSpec, SimulatedEngineOptions }

/** What a simulated engine has done since it last started, and is doing. */
export interface SimulatedEngineStats extends EngineCounters {
  running: number
  waiting: number
  /** Simulated time since the start (ms). */
  simulatedMs: number
  /** Decode steps so far. */
  steps: number
  retractions: number
}

export interface SimulatedEngine {
  readonly url: string
  readonly port: number
  stats(): SimulatedEngineStats
  /** Sets a fault; gives the id to remove it by. */
  setFault(spec: FaultSpec): number
  /** Undoes one fault, or all. */
  removeFault(id?: number): void
  faults(): FaultStatus[]
  /** Dies, and comes back empty on the same port (real ms). */
  crash(loadMs: number): void
  /** Behaves as SGLang does after SIGTERM; resolves when the process would be gone. */
  drain(): Promise<void>
  /** Cuts every connection and frees the port. */
  close(): Promise<void>
}

/** Starts a server that speaks SGLang's HTTP contract and generates nothing but simulated text. */
export async function startSimulatedEngine(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const process = await EngineProcess.start(options)
  return {
    url: process.url,
    port: process.port,
    stats: () => statsOf(process),
    setFault: (spec) => process.faults.set(spec),
    removeFault: (id) => {
      process.faults.remove(id)
    },
    faults: () => process.faults.list(),
    crash: (loadMs) => process.crash({ loadMs }),
    drain: () => process.drain(),
    close: () => process.close(),
  }
}

function statsOf({ engine: { counters, scheduler, clock } }: EngineProcess): SimulatedEngineStats {
  return {
    ...counters,
    running: scheduler.running.length + scheduler.prefilling.length,
    waiting: scheduler.waiting.length,
    simulatedMs: clock.nowMs(),
    steps: scheduler.step,
    retractions: scheduler.retractedRequests,
  }
}
