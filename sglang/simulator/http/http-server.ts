import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Engine } from '../engine/engine.ts'
import type { FaultRegistry } from '../faults/registry.ts'
import type { EdgeTimes } from '../options.ts'
import { admin } from './admin.ts'
import { unauthorized } from './auth.ts'
import type { Call } from './call.ts'
import { internalServerError, json, type Reply, text } from './reply.ts'
import { methodsAt } from './routes.ts'
import { send } from './send.ts'

export interface HttpServerOptions {
  engine: () => Engine
  faults: () => FaultRegistry
  /** Something to wait for while the server's loop stands still. */
  whenMoving: () => Promise<void> | undefined
  edge: EdgeTimes
}

/** What a connection has been used for. */
interface Use {
  /** Requests that came by it. */
  served: number
  /** Those of them that are not answered yet. */
  underWay: number
  idleTimer: NodeJS.Timeout | undefined
}

/** A server that behaves at the edge as uvicorn does under SGLang. */
export class HttpServer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #uses = new WeakMap<Socket, Use>()

  constructor(readonly options: HttpServerOptions) {
    this.#server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => {
        clearTimeout(this.#useOf(socket).idleTimer)
        this.#sockets.delete(socket)
      })
    })
    this.#server.on('clientError', (_error, socket) => {
      if (!socket.writable) return socket.destroy()
      return socket.end(
        'HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\nInvalid HTTP request received.',
      )
    })
  }

  /** Resolves with the port. Rejects when it is taken. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, backlog: 2_048 }, () => {
        this.#server.off('error', reject)
        resolve((this.#server.address() as AddressInfo).port)
      })
    })
  }

  /** Takes no new connection; requests under way go on. Resolves when the last of them is answered. */
  stopListening(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  /** Resolves when the port is free and no connection is left. */
  close(how: 'reset' | 'end'): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) {
        if (how === 'reset') socket.resetAndDestroy()
        else socket.destroy()
      }
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await this.#callOf(request, response)
    if (call.hooks.delivery === 'resetAtOnce') {
      request.socket.resetAndDestroy()
      return
    }
    await this.options.whenMoving()
    const reply = await this.#replyTo(call)
    await this.options.whenMoving()
    await send(response, reply, call.hooks, this.options.whenMoving)
  }

  async #callOf(request: IncomingMessage, response: ServerResponse): Promise<Call> {
    const isReused = this.#useOf(request.socket).served > 0
    this.#closeWhenIdle(request.socket, response)
    const url = request.url ?? '/'
    const queryAt = url.indexOf('?')
    const call: Call = {
      method: request.method ?? 'GET',
      path: queryAt < 0 ? url : url.slice(0, queryAt),
      query: queryAt < 0 ? '' : url.slice(queryAt + 1),
      headers: request.headers,
      isReused,
      body: await bodyOf(request),
      onGone: (kind, callback) => this.#whenGone(response, kind, callback),
      hooks: {},
    }
    call.hooks = this.options.faults().hooksFor(call)
    return call
  }

  async #replyTo(call: Call): Promise<Reply> {
    if (call.path.startsWith('/_sim/')) return admin(this.options.faults(), call)
    const { answer } = call.hooks
    if (answer) return answer(call)
    const engine = this.options.engine()
    if (call.method === 'OPTIONS') return preflight(call)
    const refusal = unauthorized(engine.options, call)
    if (refusal) return refusal
    const methods = methodsAt(call.path, engine.options.compat)
    if (!methods) return json({ detail: 'Not Found' }, 404)
    const handler = methods[call.method]
    if (!handler) {
      const reply = json({ detail: 'Method Not Allowed' }, 405)
      return { ...reply, headers: { allow: Object.keys(methods).join(', '), ...reply.headers } }
    }
    try {
      return await handler(engine, call)
    } catch (error) {
      // No behaviour of SGLang, but a mistake of the simulator's: it must not pass for one.
      process.emitWarning(error instanceof Error ? error : String(error))
      return internalServerError
    }
  }

  /** To the moment that uvicorn does it; Node's own timer waits a second longer than it is told. */
  #closeWhenIdle(socket: Socket, response: ServerResponse): void {
    const use = this.#useOf(socket)
    use.served++
    use.underWay++
    clearTimeout(use.idleTimer)
    response.once('finish', () => {
      use.underWay--
      // Under load Node can hand over the next request before it says that the last reply is out.
      if (use.underWay === 0) use.idleTimer = setTimeout(() => socket.end(), this.options.edge.idleMs)
    })
  }

  #useOf(socket: Socket): Use {
    const use = this.#uses.get(socket) ?? { served: 0, underWay: 0, idleTimer: undefined }
    this.#uses.set(socket, use)
    return use
  }

  /** SGLang looks every few seconds, counted from the request, whether the client of a plain one left; a stream's is noticed. */
  #whenGone(response: ServerResponse, kind: Reply['kind'], callback: () => void): void {
    const { disconnectPollMs, streamDisconnectMs } = this.options.edge
    const since = performance.now()
    const onClose = () => {
      if (response.writableFinished) return
      const elapsedMs = performance.now() - since
      const waitMs = kind === 'stream' ? streamDisconnectMs : disconnectPollMs - (elapsedMs % disconnectPollMs)
      setTimeout(callback, waitMs).unref()
    }
    if (response.closed) onClose()
    else response.once('close', onClose)
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}

/** What the web framework answers to a browser that asks first. */
function preflight({ headers }: Call): Reply {
  const { origin } = headers
  if (typeof origin !== 'string') return json({ detail: 'Method Not Allowed' }, 405)
  const reply = text('OK')
  return {
    ...reply,
    headers: {
      ...reply.headers,
      'access-control-allow-methods': 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY',
      'access-control-max-age': '600',
      'access-control-allow-credentials': 'true',
      'access-control-allow-origin': origin,
    },
  }
}
