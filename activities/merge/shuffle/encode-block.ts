import { type GatheredRows, gatherRows } from '../../../shuffle/gather-rows.ts'
import type { OpenScratchFiles } from '../../../shuffle/scratch-files.ts'
import type { BlockEncoder } from '../output/block-encoder.ts'
import type { EncodedBlock, EncodeInput, MergeContext } from './merge-task-types.ts'

/** Fetches rows in their final order and makes of them what will lie in a file. */
export function blockTask({ folder }: MergeContext, encode: BlockEncoder, open: OpenScratchFiles) {
  return async function encodeBlock({ spills, stretches, columns, space }: EncodeInput): Promise<EncodedBlock> {
    const sources: Record<number, number> = {}
    const facts = { rows: 0, textBytes: 0, tokens: 0, rowsWithTokens: 0 }
    const allocate = stretches.length === 1 ? roomIn(space) : undefined
    const texts = stretches.map((stretch) => {
      const gathered = gatherRows({
        folder,
        spills,
        limits: new Map(),
        open,
        ...(allocate && { allocate }),
        ...stretch,
      })
      count(gathered)
      return gathered.bytes
    })
    const [only] = texts
    const text = texts.length === 1 && only ? only : joined(texts, roomIn(space))
    return { ...facts, sources, bytes: await encode(text, columns) }

    function count({ bytes, lengths, weights, tags, spillOf }: GatheredRows): void {
      facts.rows += lengths.length
      facts.textBytes += bytes.length
      lengths.forEach((_, n) => {
        const tokens = weights[n] ?? 0
        facts.tokens += tokens
        if (tokens > 0) facts.rowsWithTokens++
        const source = spills[spillOf[n] ?? 0]?.sources[tags[n] ?? 0] ?? 0
        sources[source] = (sources[source] ?? 0) + 1
      })
    }
  }
}

/** Takes memory that is there, where it is enough; new memory has some to spare, so that it will be. */
function roomIn(space: ArrayBuffer | undefined): (bytes: number) => Buffer {
  return (bytes) => {
    const room = space && space.byteLength >= bytes ? space : new ArrayBuffer(Math.ceil(bytes * 1.1))
    return Buffer.from(room, 0, bytes)
  }
}

function joined(texts: readonly Uint8Array[], allocate: (bytes: number) => Buffer): Uint8Array {
  const all = allocate(texts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const text of texts) {
    all.set(text, at)
    at += text.length
  }
  return all
}
