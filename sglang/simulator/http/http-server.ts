import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Engine } from '../engine/engine.ts'
import type { Call } from './call.ts'
import { internalServerError, json, type Reply, type StreamReply, type WholeReply } from './reply.ts'
import { methodsAt } from './routes.ts'

/** A server that behaves at the edge as uvicorn does under SGLang. */
export class HttpServer {
  readonly #server: Server

  constructor(readonly engine: () => Engine) {
    this.#server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
    this.#server.keepAliveTimeout = engine().options.edge.idleMs
    // Newer Node waits a second longer than it is told.
    Object.assign(this.#server, { keepAliveTimeoutBuffer: 0 })
    this.#server.on('clientError', (_error, socket) => {
      if (socket.writable)
        socket.end(
          'HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\nInvalid HTTP request received.',
        )
      else socket.destroy()
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

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const url = request.url ?? '/'
    const queryAt = url.indexOf('?')
    const call: Call = {
      method: request.method ?? 'GET',
      path: queryAt < 0 ? url : url.slice(0, queryAt),
      query: new URLSearchParams(queryAt < 0 ? '' : url.slice(queryAt)),
      headers: request.headers,
      body,
      onGone: (kind, callback) => this.#whenGone(response, kind, callback),
    }
    const reply = await this.#replyTo(call)
    if (reply.kind === 'whole') sendWhole(response, reply)
    else await sendStream(response, reply)
  }

  async #replyTo(call: Call): Promise<Reply> {
    const methods = methodsAt(call.path)
    if (!methods) return json({ detail: 'Not Found' }, 404)
    const handler = methods[call.method]
    if (!handler) {
      const reply = json({ detail: 'Method Not Allowed' }, 405)
      return { ...reply, headers: { allow: Object.keys(methods).join(', '), ...reply.headers } }
    }
    try {
      return await handler(this.engine(), call)
    } catch {
      return internalServerError
    }
  }

  /** SGLang looks every few seconds, counted from the request, whether the client of a plain one left; a stream's is noticed. */
  #whenGone(response: ServerResponse, kind: Reply['kind'], callback: () => void): void {
    const { disconnectPollMs, streamDisconnectMs } = this.engine().options.edge
    const since = performance.now()
    response.once('close', () => {
      if (response.writableFinished) return
      const elapsedMs = performance.now() - since
      const waitMs = kind === 'stream' ? streamDisconnectMs : disconnectPollMs - (elapsedMs % disconnectPollMs)
      setTimeout(callback, waitMs).unref()
    })
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}

function beginHead(response: ServerResponse): void {
  response.sendDate = false
  response.setHeader('date', new Date().toUTCString())
  response.setHeader('server', 'uvicorn')
  // uvicorn does not tell how long it keeps a connection.
  response.removeHeader('connection')
}

function sendWhole(response: ServerResponse, { status, headers, body }: WholeReply): void {
  beginHead(response)
  response.setHeader('content-length', Buffer.byteLength(body))
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.writeHead(status)
  response.end(body)
}

async function sendStream(response: ServerResponse, { run, sendsHeadAtOnce }: StreamReply): Promise<void> {
  beginHead(response)
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  if (sendsHeadAtOnce) response.flushHeaders()
  await run((data) => response.write(`data: ${data}\n\n`))
  response.end()
}
