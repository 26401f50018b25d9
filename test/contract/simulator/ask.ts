import { request } from 'node:http'
import type { RecordedReply } from './transcript.ts'

export interface Question {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: Buffer | string | undefined
}

/** Asks over a connection of its own. Rejects when no whole reply comes. */
export function ask(url: string, { method, path, headers = {}, body }: Question): Promise<RecordedReply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url + path,
      { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, agent: false },
      (reply) => {
        const chunks: Buffer[] = []
        reply.on('data', (chunk: Buffer) => chunks.push(chunk))
        reply.on('error', reject)
        reply.on('end', () =>
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers as Record<string, string>,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Asks in JSON. */
export function askJson(url: string, path: string, body: unknown): Promise<RecordedReply> {
  return ask(url, { path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/** The data of each server-sent event. */
export function eventsOf(body: string): string[] {
  return body
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => block.slice('data: '.length))
}
