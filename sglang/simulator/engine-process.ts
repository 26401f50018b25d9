import { Engine } from './engine/engine.ts'
import type { EngineHost } from './faults/host.ts'
import { FaultRegistry } from './faults/registry.ts'
import { HttpServer } from './http/http-server.ts'
import { type ResolvedOptions, resolveOptions, type SimulatedEngineOptions } from './options.ts'

/** Another process may hold the port for a moment when an engine comes back (ms). */
const rebindMs = 50

/** The life of a simulated engine's process: loading, serving, dying, coming back on the same port. */
export class EngineProcess implements EngineHost {
  engine: Engine
  readonly faults: FaultRegistry
  port = 0
  #given: SimulatedEngineOptions
  #options: ResolvedOptions
  readonly #servers = new Set<HttpServer>()
  /** The one of them that takes new connections. */
  #open: HttpServer | 'opening' | undefined
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #abortListeners = new Set<() => void>()
  #state: 'up' | 'dead' | 'closed' = 'up'
  #stall: Promise<void> | undefined
  #reopening: NodeJS.Timeout | undefined

  private constructor(options: SimulatedEngineOptions) {
    this.#given = options
    this.#options = resolveOptions(options)
    this.engine = this.#newEngine()
    this.faults = new FaultRegistry(this, this.#options.seed, this.#options.tokenizer)
  }

  /** Resolves when the port answers, or with `loadMs` when it is known and still closed. */
  static async start(options: SimulatedEngineOptions): Promise<EngineProcess> {
    const started = new EngineProcess(options)
    const { loadMs } = started.#options
    await started.#listen(started.#options.port)
    // Now that the port is known, which the server tells of itself.
    started.engine = started.#newEngine()
    if (loadMs > 0) {
      await started.#closeServers('end')
      started.#later(loadMs, () => started.#openPort(() => started.#warmUp()))
    } else started.#warmUp()
    for (const fault of options.faults ?? []) started.faults.set(fault)
    return started
  }

  get url(): string {
    return `http://${this.#options.host}:${this.port}`
  }

  crash({ loadMs, changes }: { loadMs: number; changes?: Partial<SimulatedEngineOptions> }): void {
    if (this.#state !== 'up') return
    this.die()
    this.#given = { ...this.#given, ...changes }
    this.#later(loadMs, () => this.revive())
  }

  die(): void {
    if (this.#state !== 'up') return
    this.#state = 'dead'
    this.#stall = undefined
    this.engine.stop()
    this.#closeServers('reset').catch(ignore)
    this.#given.onDeath?.()
  }

  revive(): void {
    if (this.#state !== 'dead') return
    this.#state = 'up'
    this.#options = resolveOptions(this.#given)
    this.engine = this.#newEngine()
    this.#openPort(() => this.#warmUp())
  }

  refuseConnections(forMs: number): void {
    // Requests under way are answered, over the connections that they came by.
    this.#stopListening()
    clearTimeout(this.#reopening)
    this.#reopening = this.#later(forMs, () => this.#openPort(ignore))
  }

  stall(forMs: number): void {
    const before = this.#stall
    const stall: Promise<void> = new Promise<void>((resolve) => this.#later(forMs, resolve))
      .then(() => before)
      .then(() => {
        if (this.#stall === stall) this.#stall = undefined
      })
    this.#stall = stall
  }

  onAbort(callback: () => void): () => void {
    this.#abortListeners.add(callback)
    return () => this.#abortListeners.delete(callback)
  }

  /** What SIGTERM does: `/health` says 503, requests are served, and the end comes when no request's state is left. */
  async drain(): Promise<void> {
    this.engine.isHealthy = false
    while (this.#state === 'up' && !this.engine.isDrained) {
      await new Promise<void>((resolve) => this.#later(this.#options.edge.drainPollMs, resolve))
    }
    await this.close()
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.faults.remove()
    this.engine.stop()
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#closeServers('end')
  }

  #newEngine(): Engine {
    const engine = new Engine({ ...this.#options, port: this.port })
    engine.onAborted = () => {
      for (const listener of this.#abortListeners) listener()
    }
    return engine
  }

  /** Opens the port again; tries on while it is taken. */
  #openPort(then: () => void): void {
    if (this.#state !== 'up' || this.#open) return
    this.#open = 'opening'
    this.#listen(this.port).then(then, () => {
      if (this.#open === 'opening') this.#open = undefined
      this.#later(rebindMs, () => this.#openPort(then))
    })
  }

  #warmUp(): void {
    const { engine } = this
    const { warmUpMs } = this.#options
    if (warmUpMs === 0) return
    engine.isHealthy = false
    this.#later(warmUpMs, () => {
      engine.isHealthy = true
    })
  }

  async #listen(port: number): Promise<void> {
    const server = new HttpServer({
      engine: () => this.engine,
      faults: () => this.faults,
      whenMoving: () => this.#stall,
      edge: this.#options.edge,
    })
    this.port = await server.listen(this.#options.host, port)
    if (this.#state !== 'up') {
      await server.close('reset')
      return
    }
    this.#servers.add(server)
    this.#open = server
  }

  async #closeServers(how: 'reset' | 'end'): Promise<void> {
    const servers = [...this.#servers]
    this.#servers.clear()
    this.#open = undefined
    await Promise.all(servers.map((server) => server.close(how)))
  }

  #stopListening(): void {
    const server = this.#open
    if (!(server instanceof HttpServer)) return
    this.#open = undefined
    server.stopListening().then(() => this.#servers.delete(server), ignore)
  }

  #later(ms: number, callback: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      callback()
    }, ms)
    this.#timers.add(timer)
    return timer
  }
}

const ignore = () => {}
