import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../fixtures/sglang-transcripts/', import.meta.url))

/** A request and what the real server answered. */
export interface Exchange {
  name: string
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | undefined
  reply: RecordedReply
}

export interface RecordedReply {
  status: number
  headers: Record<string, string>
  body: string
}

/** Names of all recordings, with two digits first. */
export function transcriptNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.txt'))
    .map((file) => file.slice(0, -'.txt'.length))
    .sort()
}

export function transcriptText(name: string): string {
  return readFileSync(join(folder, `${name}.txt`), 'utf8').replaceAll('\r\n', '\n')
}

/** Reads a recording of one curl call. */
export function exchangeOf(name: string): Exchange {
  const text = transcriptText(name)
  const [comments = '', raw = ''] = text.split('# ---- raw response ----\n')
  const command = /^# \$ curl (.*)$/m.exec(comments)?.[1] ?? ''
  const body = /^# request body \((\d+) bytes\): ?(.*)$/m.exec(comments)
  return {
    name,
    method: /-X (\w+)/.exec(command)?.[1] ?? (command.includes('--data-binary') ? 'POST' : 'GET'),
    path: /http:\/\/127\.0\.0\.1:\d+(\S*)/.exec(command)?.[1] ?? '/',
    headers: headersOf(command),
    body: body ? bodyOf(Number(body[1]), body[2] ?? '') : undefined,
    reply: replyOf(raw),
  }
}

/** The recorder wrote headers without quotes; each ends where the next option begins. */
function headersOf(command: string): Record<string, string> {
  const pairs = [...command.matchAll(/-H ([\w-]+): ?(.*?)(?= -H | --data-binary | http:\/\/)/g)]
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name.toLowerCase(), value]).filter(([, v]) => v))
}

/** The recorder escaped bytes that are no text, and cut bodies that repeat one word. */
function bodyOf(bytes: number, shown: string): Buffer {
  const asShown = Buffer.from(shown, 'utf8')
  if (asShown.length === bytes) return asShown
  const cut = /^(.*?)((?:hello )+)hel.*\.\.\.\[\d+ bytes total\]\.\.\..*?((?:hello )+)(.*)$/s.exec(shown)
  const [, head = '', , , tail = ''] = cut ?? []
  const body = cut
    ? Buffer.from(head + 'hello '.repeat((bytes - head.length - tail.length) / 6) + tail, 'utf8')
    : Buffer.from(
        shown.replace(/\\(\\|x[0-9a-f]{2})/g, (_, code: string) =>
          code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code.slice(1), 16)),
        ),
        'latin1',
      )
  if (body.length !== bytes) throw new Error(`The recorded body has ${bytes} bytes, not ${body.length}: ${shown}`)
  return body
}

function replyOf(raw: string): RecordedReply {
  const last = raw.startsWith('HTTP/1.1 100') ? raw.slice(raw.indexOf('\n\n') + 2) : raw
  const end = last.indexOf('\n\n')
  const [statusLine = '', ...lines] = last.slice(0, end).split('\n')
  const headers = lines.map((line) => {
    const at = line.indexOf(':')
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
  })
  const named: Record<string, string> = Object.fromEntries(headers)
  // The recorder ends the file with a newline of its own.
  const rest = Buffer.from(last.slice(end + 2), 'utf8')
  const length = Number(named['content-length'] ?? rest.length)
  return { status: Number(statusLine.split(' ')[1]), headers: named, body: rest.subarray(0, length).toString('utf8') }
}
