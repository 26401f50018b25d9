import type { Engine } from '../engine/engine.ts'
import type { SimulatedEngineOptions } from '../options.ts'

/** What a fault may do to the process that an engine lives in. */
export interface EngineHost {
  readonly engine: Engine
  /** The process dies: every connection is reset, the port stays closed for `loadMs`, and a fresh engine comes up. */
  crash(options: { loadMs: number; changes?: Partial<SimulatedEngineOptions> }): void
  /** The port stays closed, and nothing comes back until `revive`. */
  die(): void
  revive(): void
  /** No new connection is taken for so long, while the engine goes on (ms). */
  refuseConnections(forMs: number): void
  /** The HTTP server's own loop stands still for so long (ms). */
  stall(forMs: number): void
  /** Calls back for every request that is given up, whoever asked for it. Gives what ends it. */
  onAbort(callback: () => void): () => void
}
