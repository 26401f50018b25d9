import { type Dispatcher, Pool } from 'undici'
import type { InFlight } from './in-flight.ts'

/** The engine answered; whether well or not is for others to judge. */
export interface HttpReply {
  status: number
  contentType: string
  body: string
}

/** No whole answer came: the connection was refused, reset or closed, or the deadline passed. */
export class NoReply extends Error {
  override readonly name = 'NoReply'
  constructor(
    /** Code of the socket error, such as `ECONNREFUSED`; `DEADLINE` or `GIVEN_UP` where we ended it ourselves. */
    readonly code: string,
    readonly path: string,
    options?: ErrorOptions,
  ) {
    super(`${path}: no answer (${code})`, options)
  }
}

export interface RequestOptions {
  /** The request is given up after this long. */
  deadlineMs: number
  /** Lets others give it up before that. */
  inFlight?: InFlight
}

export interface EngineHttpOptions {
  /** Base URL of the server, for example `http://127.0.0.1:30000`. */
  url: string
  /** Connections for generation at most; the permits in use decide how many there are. */
  connections: number
  apiKey?: string
}

/**
 * HTTP to one engine. Generation and control calls have connections of their own, so that a probe never waits behind a
 * request that takes minutes.
 */
export class EngineHttp {
  readonly #generation: Pool
  readonly #control: Pool
  readonly #headers: Record<string, string>
  readonly #basePath: string

  constructor(options: EngineHttpOptions) {
    const { origin, pathname } = new URL(options.url)
    this.#generation = newPool(origin, options.connections)
    this.#control = newPool(origin, 8)
    this.#basePath = pathname.replace(/\/$/, '')
    this.#headers = {
      'content-type': 'application/json',
      ...(options.apiKey && { authorization: `Bearer ${options.apiKey}` }),
    }
  }

  /** Asks for tokens. Throws `NoReply`. */
  generate(path: string, body: unknown, options: RequestOptions): Promise<HttpReply> {
    return this.#request(this.#generation, 'POST', path, JSON.stringify(body), options)
  }

  /** Asks about the server. Throws `NoReply`. */
  get(path: string, options: RequestOptions): Promise<HttpReply> {
    return this.#request(this.#control, 'GET', path, null, options)
  }

  post(path: string, body: unknown, options: RequestOptions): Promise<HttpReply> {
    return this.#request(this.#control, 'POST', path, JSON.stringify(body), options)
  }

  async close(): Promise<void> {
    await Promise.all([this.#generation.destroy(), this.#control.destroy()])
  }

  #request(
    pool: Pool,
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    options: RequestOptions,
  ): Promise<HttpReply> {
    const { deadlineMs, inFlight } = options
    return new Promise((resolve, reject) => {
      pool.dispatch(
        // An engine sends no byte until the last token is there, so the wait for the headers is the whole wait.
        {
          method,
          path: this.#basePath + path,
          headers: this.#headers,
          body,
          headersTimeout: deadlineMs,
          bodyTimeout: deadlineMs,
        },
        new ReplyCollector(path, inFlight, resolve, reject),
      )
    })
  }
}

/** Collects one reply. Below undici's request(), which costs a stream and a signal for each of the many requests. */
class ReplyCollector implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined
  #isGivenUp = false
  #status = 0
  #contentType = ''
  readonly #chunks: Buffer[] = []
  readonly #leave: (() => void) | undefined

  constructor(
    private readonly path: string,
    inFlight: InFlight | undefined,
    private readonly resolve: (reply: HttpReply) => void,
    private readonly reject: (error: NoReply) => void,
  ) {
    this.#leave = inFlight?.add(() => {
      this.#isGivenUp = true
      this.#controller?.abort(new Error('given up'))
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isGivenUp) controller.abort(new Error('given up'))
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status
    this.#contentType = String(headers['content-type'] ?? '')
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#leave?.()
    this.resolve({ status: this.#status, contentType: this.#contentType, body: Buffer.concat(this.#chunks).toString() })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#leave?.()
    this.reject(new NoReply(this.#isGivenUp ? 'GIVEN_UP' : codeOf(error), this.path, { cause: error }))
  }
}

function newPool(origin: string, connections: number): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    // uvicorn closes idle connections after 5 s: let go well before it does, even when our event loop stalls.
    keepAliveTimeout: 3_000,
    keepAliveMaxTimeout: 3_000,
    connect: { timeout: 5_000 },
  })
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown }
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'DEADLINE'
  return typeof code === 'string' ? code : 'UNKNOWN'
}
