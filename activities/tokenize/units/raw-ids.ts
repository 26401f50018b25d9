import { memberOf, type RawNode } from '../../merge/rows/raw-json.ts'
import type { TurnWithIds } from '../rows/rows-from-ids.ts'

const zero = 48
const nine = 57
const minus = 45

/** The ids of every turn of a sample, read where they lie; undefined when a turn has none. */
export function turnsWithIds(bytes: Buffer, sample: RawNode): TurnWithIds[] | undefined {
  const turns = memberOf(sample, 'turns')?.items ?? []
  if (turns.length === 0) return undefined
  const read: TurnWithIds[] = []
  for (const turn of turns) {
    const promptIds = idsOf(bytes, memberOf(turn, 'promptIds'))
    const outputIds = idsOf(bytes, memberOf(turn, 'outputIds'))
    if (!promptIds || !outputIds) return undefined
    read.push({ promptIds, outputIds })
  }
  return read
}

/** A list of whole numbers in JSON; -1 stands for what is no id. */
function idsOf(bytes: Buffer, node: RawNode | undefined): Int32Array | undefined {
  if (node?.kind !== 'array') return undefined
  const [numbers] = node.items ?? []
  if (!numbers) return new Int32Array()
  if (numbers.kind !== 'int') return Int32Array.of(-1)
  const ids = new Int32Array(Math.ceil((numbers.end - numbers.start + 1) / 2))
  let count = 0
  let id = 0
  let digits = 0
  for (let at = numbers.start; at <= numbers.end; at++) {
    const byte = at < numbers.end ? (bytes[at] as number) : 44
    if (byte >= zero && byte <= nine) {
      id = id * 10 + byte - zero
      digits++
    } else if (byte === minus) id = Number.NaN
    else if (digits > 0) {
      ids[count++] = id <= 0x7fff_ffff ? id : -1
      id = 0
      digits = 0
    }
  }
  return ids.subarray(0, count)
}
