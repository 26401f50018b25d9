import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AnswerFault, answerOf } from './s3-answers.ts'

/** What can be made to go wrong with a request. */
export type Fault =
  /** The connection closes as soon as the request's head is there; the server hears nothing. */
  | 'drop'
  /** The same with a reset. */
  | 'reset'
  /** The server acts and answers in full, and the client sees a reset. */
  | 'lost-reply'
  /** The reply stops in the middle and the connection stays open. */
  | 'stalled-body'
  /** The reply stops in the middle and the connection is reset. */
  | 'truncated-body'
  /** Nothing comes for `delayMs`, then everything. */
  | 'slow-first-byte'
  | AnswerFault

/** When a fault strikes. Left-out conditions hold for every request. */
export interface FaultRule {
  fault: Fault
  method?: string
  /** Tested on path and query, as in `/bucket/key?uploadId=…`. */
  url?: RegExp
  /** Chance for each request, drawn from the proxy's seeded numbers. Left out: every request. */
  rate?: number
  /** How often at most. */
  times?: number
  /** Of `slow-first-byte`. Default 200. */
  delayMs?: number
}

export interface InjectedFault {
  /** How often it struck so far. */
  readonly hits: number
  remove(): void
}

interface Injected extends FaultRule {
  hits: number
}

/** An HTTP proxy in front of an S3 server. Signatures stay valid, because the Host header goes through as it is. */
export class FaultProxy {
  #faults: Injected[] = []
  readonly #random: () => number
  /** Method and URL of every request that came, faulty or not. */
  readonly requests: string[] = []

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    seed: number,
  ) {
    this.#random = seededNumbers(seed)
  }

  static async start(targetEndpoint: string, { seed = 1 } = {}): Promise<FaultProxy> {
    const server = createServer()
    const proxy = new FaultProxy(server, new URL(targetEndpoint), seed)
    const serve = (request: IncomingMessage, response: ServerResponse) => proxy.#serve(request, response)
    server.on('request', serve)
    // A server may refuse a large upload before its body; only it can say whether to continue.
    server.on('checkContinue', serve)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  inject(rule: FaultRule): InjectedFault {
    const injected = { ...rule, hits: 0 }
    this.#faults.push(injected)
    return {
      get hits() {
        return injected.hits
      },
      remove: () => {
        this.#faults = this.#faults.filter((other) => other !== injected)
      },
    }
  }

  clear(): void {
    this.#faults = []
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '' } = request
    this.requests.push(`${method} ${url}`)
    const rule = this.#faults.find((candidate) => this.#strikes(candidate, method, url))
    if (!rule) return this.#forward(request, response, passOn)
    rule.hits++
    switch (rule.fault) {
      case 'drop':
        request.socket.destroy()
        return
      case 'reset':
        request.socket.resetAndDestroy()
        return
      case 'lost-reply':
        return this.#forward(request, response, (reply) => {
          reply.resume()
          reply.on('end', () => request.socket.resetAndDestroy())
        })
      case 'stalled-body':
        return this.#forward(request, response, (reply) => passOnHalf(reply, response, () => {}))
      case 'truncated-body':
        return this.#forward(request, response, (reply) =>
          passOnHalf(reply, response, () => request.socket.resetAndDestroy()),
        )
      case 'slow-first-byte': {
        const timer = setTimeout(() => this.#forward(request, response, passOn), rule.delayMs ?? 200)
        response.on('close', () => clearTimeout(timer))
        return
      }
      default:
        return answer(rule.fault, request, response)
    }
  }

  #strikes(rule: Injected, method: string, url: string): boolean {
    if (rule.times !== undefined && rule.hits >= rule.times) return false
    if (rule.method !== undefined && rule.method !== method) return false
    if (rule.url !== undefined && !rule.url.test(url)) return false
    return rule.rate === undefined || this.#random() < rule.rate
  }

  #forward(
    request: IncomingMessage,
    response: ServerResponse,
    deliver: (reply: IncomingMessage, response: ServerResponse) => void,
  ): void {
    const onward = httpRequest(
      {
        host: this.target.hostname,
        port: this.target.port,
        method: request.method,
        path: request.url,
        headers: request.headers,
        agent: false,
      },
      (reply) => deliver(reply, response),
    )
    let hasReply = false
    onward.on('response', () => {
      hasReply = true
    })
    // The server is down: to the client that is a broken connection. One that answers without reading on is no error.
    onward.on('error', () => {
      if (!hasReply) request.socket.destroy()
    })
    // A client that goes away in the middle of its request takes the rest of it along.
    request.on('aborted', () => onward.destroy())
    response.on('close', () => onward.destroy())
    if (request.headers.expect === undefined) {
      request.pipe(onward)
      return
    }
    onward.on('continue', () => {
      response.writeContinue()
      request.pipe(onward)
    })
    onward.flushHeaders()
  }
}

function passOn(reply: IncomingMessage, response: ServerResponse): void {
  response.writeHead(reply.statusCode ?? 502, reply.rawHeaders)
  reply.on('aborted', () => response.destroy())
  reply.pipe(response)
}

/** A reply without a body has no middle: then nothing of it is passed on at all. */
function passOnHalf(reply: IncomingMessage, response: ServerResponse, atHalf: () => void): void {
  const bytes = response.req.method === 'HEAD' ? 0 : Number(reply.headers['content-length'] ?? 0)
  const half = Math.floor(bytes / 2)
  if (half === 0) {
    reply.resume()
    reply.on('end', atHalf)
    return
  }
  response.writeHead(reply.statusCode ?? 502, reply.rawHeaders)
  let sent = 0
  reply.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, half - sent)
    sent += part.length
    if (part.length > 0) response.write(part, sent === half ? atHalf : undefined)
  })
}

function answer(fault: AnswerFault, request: IncomingMessage, response: ServerResponse): void {
  const isConditional = 'if-match' in request.headers || 'if-none-match' in request.headers
  const { status, headers, body } = answerOf(fault, isConditional)
  // Read to the end first, as a server does that refuses after the upload.
  if (request.headers.expect !== undefined) response.writeContinue()
  request.resume()
  request.on('end', () => {
    response.writeHead(status, { ...headers, 'content-type': 'application/xml', 'content-length': body.length })
    response.end(request.method === 'HEAD' ? undefined : body)
  })
}

/** mulberry32: the same seed gives the same faults as long as the requests come in the same order. */
function seededNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
