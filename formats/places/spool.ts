import { createHash } from 'node:crypto'
import { mkdir, open, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ByteReader, chunksOf } from '../byte-reader.ts'

/** Keeps a local copy of a remote file that has to be read at any place, and says where it is. */
export type Spool = (uri: string, version: string, openRemote: () => Promise<ByteReader>) => Promise<string>

/** Spools into a folder, one copy per version of a file; a copy that was finished is used again. */
export function spoolInto(folder: string): Spool {
  return async (uri, version, openRemote) => {
    const path = join(folder, createHash('sha256').update(`${uri}\n${version}`).digest('hex').slice(0, 32))
    if (await stat(path).catch(() => undefined)) return path
    await mkdir(folder, { recursive: true })
    const reader = await openRemote()
    const file = await open(`${path}.part`, 'w')
    try {
      for await (const chunk of chunksOf(reader)) await file.write(chunk)
    } finally {
      await file.close()
      await reader.close()
    }
    await rename(`${path}.part`, path)
    return path
  }
}
