import { gatherRows } from '../../../shuffle/gather-rows.ts'
import type { BlockEncoder } from '../output/block-encoder.ts'
import type { EncodedBlock, MergeContext, MergeSpill, Stretch } from './merge-task-types.ts'

export interface EncodeInput {
  readonly spills: readonly Pick<MergeSpill, 'name' | 'sources'>[]
  readonly stretches: readonly Stretch[]
}

/** Fetches rows in their final order and makes of them what will lie in a file. */
export async function encodeBlock(
  { spills, stretches }: EncodeInput,
  { folder }: MergeContext,
  encode: BlockEncoder,
): Promise<EncodedBlock> {
  const sources: Record<number, number> = {}
  const texts: Uint8Array[] = []
  const facts = { rows: 0, textBytes: 0, tokens: 0, rowsWithTokens: 0 }
  for (const stretch of stretches) {
    const { bytes, lengths, weights, tags, spillOf } = gatherRows({ folder, spills, limits: new Map(), ...stretch })
    texts.push(bytes)
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
  const [only] = texts
  const text = texts.length === 1 && only ? only : Buffer.concat(texts)
  return { ...facts, sources, bytes: await encode(text) }
}
