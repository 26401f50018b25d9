import { type GatheredRows, gatherRows } from '../../../shuffle/gather-rows.ts'
import type { OpenScratchFiles } from '../../../shuffle/scratch-files.ts'
import type { BlockEncoder } from '../output/block-encoder.ts'
import type { EncodedBlock, EncodeInput, MergeContext } from './merge-task-types.ts'

/** Fetches rows in their final order and makes of them what will lie in a file. */
export function blockTask({ folder }: MergeContext, encode: BlockEncoder, open: OpenScratchFiles) {
  const gatherSpace = new GrowingSpace()

  return async function encodeBlock({ spills, stretches, columns, space }: EncodeInput): Promise<EncodedBlock> {
    const sources: Record<number, number> = {}
    const facts = { rows: 0, textBytes: 0, tokens: 0, rowsWithTokens: 0 }
    gatherSpace.clear()
    for (const stretch of stretches) {
      const allocate = (bytes: number) => gatherSpace.take(bytes)
      count(gatherRows({ folder, spills, limits: new Map(), open, allocate, ...stretch }))
    }
    const encoded = await encode(gatherSpace.taken, columns)
    return { ...facts, sources, bytes: sharedCopy(encoded, space) }

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

/** Where the thread that asked can see it; what is too large for that is copied on the way. */
function sharedCopy(bytes: Uint8Array, space: SharedArrayBuffer): Uint8Array {
  if (bytes.length > space.byteLength) return new Uint8Array(bytes)
  const shared = new Uint8Array(space, 0, bytes.length)
  shared.set(bytes)
  return shared
}

/** Memory that is taken piece by piece, one behind the other, and used again for each block. */
class GrowingSpace {
  #memory = Buffer.allocUnsafeSlow(1024 * 1024)
  #used = 0

  clear(): void {
    this.#used = 0
  }

  take(bytes: number): Buffer {
    if (this.#used + bytes > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.ceil((this.#used + bytes) * 1.25))
      this.#memory.copy(larger, 0, 0, this.#used)
      this.#memory = larger
    }
    this.#used += bytes
    return this.#memory.subarray(this.#used - bytes, this.#used)
  }

  get taken(): Uint8Array {
    return this.#memory.subarray(0, this.#used)
  }
}
