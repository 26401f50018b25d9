import { open } from 'node:fs/promises'
import { BadFile } from '../bad-file.ts'
import type { ArrowPiece } from '../pieces.ts'
import type { SourceFile } from '../places/source-file.ts'

/** How the stream and the file format end, in hex. Without it a file that was cut between two batches would look whole. */
const endings = /(ffffffff00000000|4152524f5731)$/

/** The whole file is one piece: its batches can only be found one after the other. */
export async function* cutArrow(file: SourceFile): AsyncGenerator<ArrowPiece> {
  const path = await file.localPath()
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const tail = Buffer.alloc(Math.min(8, size))
    await handle.read(tail, 0, tail.length, size - tail.length)
    if (!endings.test(tail.toString('hex'))) throw new BadFile('truncated', 'no end-of-stream mark where it ends')
    yield { kind: 'arrow', path, sizeBytes: size }
  } finally {
    await handle.close()
  }
}
