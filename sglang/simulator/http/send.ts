import type { ServerResponse } from 'node:http'
import type { Delivery, RequestHooks } from '../faults/hooks.ts'
import type { Reply, StreamReply, WholeReply } from './reply.ts'

/** Sends a reply as uvicorn does, unless a fault has other plans for it. */
export async function send(
  response: ServerResponse,
  reply: Reply,
  hooks: RequestHooks,
  whenMoving: () => Promise<void> | undefined,
): Promise<void> {
  if (reply.kind === 'stream') return sendStream(response, reply, hooks, whenMoving)
  const whole = hooks.reply ? hooks.reply(reply) : reply
  if (hooks.delivery) sendBroken(response, whole, hooks.delivery)
  else sendWhole(response, whole)
}

function beginHead(response: ServerResponse): void {
  response.sendDate = false
  response.setHeader('date', new Date().toUTCString())
  response.setHeader('server', 'uvicorn')
  // uvicorn does not tell how long it keeps a connection.
  response.removeHeader('connection')
}

function sendWhole(
  response: ServerResponse,
  { status, headers, body }: WholeReply,
  length = Buffer.byteLength(body),
): void {
  beginHead(response)
  response.setHeader('content-length', length)
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.writeHead(status)
  response.end(body)
}

async function sendStream(
  response: ServerResponse,
  { run, sendsHeadAtOnce }: StreamReply,
  hooks: RequestHooks,
  whenMoving: () => Promise<void> | undefined,
): Promise<void> {
  beginHead(response)
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  if (sendsHeadAtOnce) response.flushHeaders()
  let index = 0
  let isOver = false
  await run((data) => {
    if (isOver) return
    holdBack(response, whenMoving())
    const event = hooks.event ? hooks.event(data, index++) : data
    if (event !== undefined) {
      response.write(`data: ${event}\n\n`)
      return
    }
    isOver = true
    if (hooks.cutsStream) response.socket?.destroy()
    else response.end()
  })
  if (!isOver) response.end()
}

/** What is written goes out when the server's loop moves again. */
function holdBack(response: ServerResponse, moving: Promise<void> | undefined): void {
  if (!moving || response.writableCorked > 0) return
  response.cork()
  moving.then(
    () => response.uncork(),
    () => {},
  )
}

function sendBroken(response: ServerResponse, reply: WholeReply, delivery: Delivery): void {
  const { socket } = response
  const bytes = Buffer.from(reply.body, 'utf8')
  const half = bytes.subarray(0, bytes.length / 2)
  switch (delivery) {
    case 'resetAtOnce':
      socket?.resetAndDestroy()
      return
    case 'lost':
      socket?.destroy()
      return
    case 'truncated':
      sendWhole(response, { ...reply, body: half.toString('utf8') })
      return
    case 'resetMidBody':
    case 'shortOfLength':
      beginHead(response)
      response.setHeader('content-length', bytes.length)
      for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value)
      response.writeHead(reply.status)
      response.write(half, () => (delivery === 'resetMidBody' ? socket?.resetAndDestroy() : socket?.end()))
  }
}
