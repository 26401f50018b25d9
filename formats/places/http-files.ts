import { Agent, type Dispatcher, RetryAgent, request } from 'undici'
import { messageOf } from '../bad-file.ts'
import { type ByteReader, readerOf } from '../byte-reader.ts'
import { type SourceFile, SourceNotReadable } from './source-file.ts'
import type { Spool } from './spool.ts'

/** One file of a web server. A download that breaks off is taken up again by a range request. */
export async function httpFiles(
  uri: string,
  dispatcher: Dispatcher = new RetryAgent(new Agent()),
  spool: Spool,
): Promise<SourceFile[]> {
  const head = await ask(uri, 'HEAD', dispatcher)
  await head.body.dump()
  const length = head.statusCode === 200 ? Number(head.headers['content-length'] ?? Number.NaN) : Number.NaN
  const bytes = Number.isNaN(length) ? undefined : length
  const version = String(head.headers.etag ?? head.headers['last-modified'] ?? bytes ?? 'unknown')
  const open = async (): Promise<ByteReader> => {
    const { statusCode, body } = await ask(uri, 'GET', dispatcher)
    if (statusCode !== 200) {
      await body.dump()
      throw new SourceNotReadable(uri, `was answered with status ${statusCode}`)
    }
    return readerOf(body)
  }
  if (head.statusCode === 404) throw new SourceNotReadable(uri, 'was answered with status 404')
  const name = decodeURIComponent(new URL(uri).pathname.split('/').filter(Boolean).at(-1) ?? uri)
  return [{ uri, name, bytes, version, open, localPath: () => spool(uri, version, open) }]
}

async function ask(uri: string, method: 'HEAD' | 'GET', dispatcher: Dispatcher) {
  try {
    // Compressed on the way, a file would no longer be the one that the server lists.
    return await request(uri, { method, dispatcher, headers: { 'accept-encoding': 'identity' } })
  } catch (error) {
    throw new SourceNotReadable(uri, `can't be reached: ${messageOf(error)}`, { cause: error })
  }
}
