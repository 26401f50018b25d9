import { Engine, type EngineCounters } from './engine/engine.ts'
import { HttpServer } from './http/http-server.ts'
import { resolveOptions, type SimulatedEngineOptions } from './options.ts'

export type { SimulatedEngineOptions } from './options.ts'

/** What a simulated engine has done and is doing. */
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
  /** Cuts every connection and frees the port. */
  close(): Promise<void>
}

/** Starts a server that speaks SGLang's HTTP contract and generates nothing but simulated text. */
export async function startSimulatedEngine(options: SimulatedEngineOptions = {}): Promise<SimulatedEngine> {
  const resolved = resolveOptions(options)
  const engine = new Engine(resolved)
  const server = new HttpServer(() => engine)
  const port = await server.listen(resolved.host, resolved.port)
  return {
    url: `http://${resolved.host}:${port}`,
    port,
    stats: () => statsOf(engine),
    close: async () => {
      engine.stop()
      await server.close()
    },
  }
}

function statsOf({ counters, scheduler, clock }: Engine): SimulatedEngineStats {
  return {
    ...counters,
    running: scheduler.running.length + scheduler.prefilling.length,
    waiting: scheduler.waiting.length,
    simulatedMs: clock.nowMs(),
    steps: scheduler.step,
    retractions: scheduler.retractedRequests,
  }
}
