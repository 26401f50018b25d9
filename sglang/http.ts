import { Pool } from 'undici'

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
    /** Code of the socket error, such as `ECONNREFUSED`; `DEADLINE` or `CANCELLED` where we gave up ourselves. */
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
  /** Each of them ends the request. A list, since `AbortSignal.any` holds on to its results on Node 20. */
  signals?: readonly AbortSignal[]
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
    return this.#request(this.#control, 'GET', path, undefined, options)
  }

  post(path: string, body: unknown, options: RequestOptions): Promise<HttpReply> {
    return this.#request(this.#control, 'POST', path, JSON.stringify(body), options)
  }

  async close(): Promise<void> {
    await Promise.all([this.#generation.destroy(), this.#control.destroy()])
  }

  async #request(
    pool: Pool,
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    { deadlineMs, signals = [] }: RequestOptions,
  ): Promise<HttpReply> {
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), deadlineMs)
    const onCancel = () => deadline.abort()
    for (const signal of signals) signal.addEventListener('abort', onCancel, { once: true })
    const isCancelled = () => signals.some((signal) => signal.aborted)
    try {
      if (isCancelled()) deadline.abort()
      const reply = await pool.request({
        method,
        path: this.#basePath + path,
        headers: this.#headers,
        body: body ?? null,
        signal: deadline.signal,
      })
      const contentType = reply.headers['content-type']
      return {
        status: reply.statusCode,
        contentType: typeof contentType === 'string' ? contentType : '',
        body: await reply.body.text(),
      }
    } catch (error) {
      throw new NoReply(codeOf(error, isCancelled(), deadline.signal.aborted), path, { cause: error })
    } finally {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', onCancel)
    }
  }
}

function newPool(origin: string, connections: number): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    // uvicorn closes idle connections after 5 s: let go well before it does, even when our event loop stalls.
    keepAliveTimeout: 3_000,
    keepAliveMaxTimeout: 3_000,
    // An engine sends no byte until the last token is there; the deadline is ours.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 5_000 },
  })
}

function codeOf(error: unknown, isCancelled: boolean, isOverdue: boolean): string {
  if (isCancelled) return 'CANCELLED'
  if (isOverdue) return 'DEADLINE'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : 'UNKNOWN'
}
