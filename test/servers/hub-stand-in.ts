import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HubStandInOptions {
  /** Content of the dataset's files by path. */
  files: Record<string, Buffer>
  /** Answers without this token are refused. */
  token?: string
}

/**
 * The part of the Hugging Face hub's HTTP interface that reading a dataset takes: its revision, its file tree, facts of
 * paths, and the files with byte ranges. `breakAfter` makes the next downloads end early.
 */
export class HubStandIn {
  readonly sha = createHash('sha1').update('commit').digest('hex')
  readonly requests: string[] = []
  /** The next downloads end after so many bytes, one entry each. */
  readonly breakAfter: number[] = []

  private constructor(
    readonly dataset: string,
    readonly options: HubStandInOptions,
    readonly url: string,
    readonly close: () => Promise<void>,
  ) {}

  static async start(dataset: string, options: HubStandInOptions): Promise<HubStandIn> {
    let hub: HubStandIn | undefined
    const server = createServer((request, response) => hub?.answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const close = async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    hub = new HubStandIn(dataset, options, `http://127.0.0.1:${port}`, close)
    return hub
  }

  get downloads(): string[] {
    return this.requests.filter((request) => request.includes('/resolve/') && !request.endsWith(' bytes=0-0'))
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url)
    const path = decodeURIComponent(url.pathname)
    this.requests.push(`${request.method} ${path} ${request.headers.range ?? ''}`.trim())
    const { token } = this.options
    if (token && request.headers.authorization !== `Bearer ${token}`) return json(response, 401, { error: 'gated' })
    const api = `/api/datasets/${this.dataset}`
    if (path.startsWith(`${api}/revision/`)) return this.revision(path.slice(`${api}/revision/`.length), response)
    if (path.startsWith(`${api}/tree/${this.sha}`)) {
      const folder = path.slice(`${api}/tree/${this.sha}`.length + 1)
      return json(
        response,
        200,
        this.entries((name) => folder === '' || name.startsWith(`${folder}/`)),
      )
    }
    if (path === `${api}/paths-info/${this.sha}`) return this.pathsInfo(request, response)
    const resolve = `/datasets/${this.dataset}/resolve/${this.sha}/`
    if (path.startsWith(resolve)) return this.download(path.slice(resolve.length), request, response)
    json(response, 404, { error: `no ${path}` })
  }

  private revision(name: string, response: ServerResponse): void {
    if (name !== 'main' && name !== this.sha) return json(response, 404, { error: 'no such revision' })
    json(response, 200, { _id: '1', id: this.dataset, sha: this.sha, private: false, gated: false, lastModified: 0 })
  }

  private entries(isWanted: (name: string) => boolean): object[] {
    return Object.entries(this.options.files)
      .filter(([name]) => isWanted(name))
      .map(([path, content]) => ({
        type: 'file',
        path,
        size: content.length,
        oid: createHash('sha1').update(content).digest('hex'),
        lfs: { oid: createHash('sha256').update(content).digest('hex'), size: content.length, pointerSize: 130 },
      }))
  }

  private pathsInfo(request: IncomingMessage, response: ServerResponse): void {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { paths } = JSON.parse(body) as { paths: string[] }
      json(
        response,
        200,
        this.entries((name) => paths.includes(name)),
      )
    })
  }

  private download(name: string, request: IncomingMessage, response: ServerResponse): void {
    const content = this.options.files[name]
    if (!content) {
      response.setHeader('X-Error-Code', 'EntryNotFound')
      return json(response, 404, { error: 'Entry not found' })
    }
    const [, first, last] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? []
    const start = Number(first ?? 0)
    const end = last ? Number(last) + 1 : content.length
    response.writeHead(first === undefined ? 200 : 206, {
      etag: `"${createHash('sha256').update(content).digest('hex')}"`,
      'content-length': end - start,
      'content-range': `bytes ${start}-${end - 1}/${content.length}`,
    })
    const isProbe = request.headers.range === 'bytes=0-0'
    const limit = isProbe ? undefined : this.breakAfter.shift()
    if (limit === undefined) response.end(content.subarray(start, end))
    else response.write(content.subarray(start, start + limit), () => response.destroy())
  }
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
