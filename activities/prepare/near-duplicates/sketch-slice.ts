import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prompt } from '../../../domain/prompt.ts'
import { type GatherOptions, gatherRows } from '../../../shuffle/gather-rows.ts'
import { type Banding, writeBands } from './min-hash.ts'

/** Band hashes of a slice of prompts on disk: band after band, `[high, low]` per place. */
export interface Sketch {
  readonly name: string
  readonly places: number
}

/** Computes the band hashes of the prompts of a slice. */
export function sketchSlice(options: Omit<GatherOptions, 'limits'>, banding: Banding): Sketch {
  const { folder, range, firstPlace, places } = options
  const { bytes, lengths } = gatherRows({ ...options, limits: new Map() })
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const sketch = new Uint32Array(banding.bands * places * 2)
  let at = 0
  lengths.forEach((length, place) => {
    const { messages } = JSON.parse(text.toString('utf8', at, at + length)) as Prompt
    writeBands(messages.map(({ content }) => content).join('\n'), banding, sketch, place * 2, places * 2)
    at += length
  })
  const name = `${range}-${firstPlace}.bands`
  writeFileSync(join(folder, name), sketch)
  return { name, places }
}
