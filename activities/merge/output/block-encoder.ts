import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { MergeContext } from '../shuffle/merge-task-types.ts'

/** Makes of rows, each a line of JSON, what will lie in a file. Blocks of a file are encoded on their own and put together. */
export type BlockEncoder = (text: Uint8Array) => Promise<Uint8Array>

const gzipBytes = promisify(gzip)

/** Near the best size at a third of the time of the default level. */
const gzipLevel = 4

export function blockEncoder({ output: { format, compression } }: MergeContext): BlockEncoder {
  if (format !== 'jsonl') throw new Error(`${format} is not written yet`)
  if (compression === 'none') return async (text) => text
  if (compression === 'gzip') return (text) => gzipBytes(text, { level: gzipLevel })
  throw new Error(`${compression} is not written yet`)
}
