import type { Message, Thinking } from '../../../domain/prompt.ts'
import type { Source, Spec } from '../../../domain/spec.ts'
import { hasMediaMark, isBlank, refuseUnfitText } from '../../../formats/conversation/content.ts'
import type { ByteStops } from '../../../formats/raw/byte-stops.ts'
import { tapeFlag, tapeKind } from '../../../formats/raw/json-tape.ts'
import { decodedText, hasMediaMarkRaw, isBlankRaw } from '../../../formats/raw/raw-text.ts'
import { RowRejected } from '../../../formats/row-rejected.ts'
import { fateOf, id128 } from '../../../shuffle/digest.ts'
import { decidedThinking } from '../decided-thinking.ts'
import type { PieceSink } from '../scan-batch.ts'
import { RawRow } from './read-raw-row.ts'

/** What a turn or the row around it adds to its texts, at most, in bytes. */
const bytesPerTurn = 64
const bytesPerRow = 1024

const turnStart = {
  system: Buffer.from('{"role":"system","content":"'),
  user: Buffer.from('{"role":"user","content":"'),
}
const turnEnd = Buffer.from('"}')
const idAt = '{"promptId":"'.length
const idPlaceholder = '0'.repeat(32)

/**
 * Makes prompts of the bytes of plain rows, without parsing them: texts go from the source to the prompt as they are
 * written. What it makes is, byte for byte, what `promptMaker` makes of the same rows; whatever it is not made for, it
 * leaves to that.
 */
export class RawPromptMaker {
  readonly #row = new RawRow()
  readonly #start: Buffer
  #rows: Buffer = Buffer.alloc(0)
  #at = 0
  #emptyTurns = 0
  #consecutiveUsers = 0

  constructor(
    source: Source,
    readonly spec: Spec,
  ) {
    this.#start = Buffer.from(`{"promptId":"${idPlaceholder}","source":${JSON.stringify(source.name)},"messages":[`)
  }

  /** Whether the rows of a source can be plain at all. */
  static suits({ mapping, filters, turns }: Source, { decontaminate }: Spec): boolean {
    return !mapping && !filters && !decontaminate && turns.midSystem === 'keep' && turns.consecutiveUsers === 'keep'
  }

  /** Makes the prompt of a row and spills it; false when the row is not plain. */
  take(block: ByteStops, start: number, end: number, rowNumber: number, sink: PieceSink): boolean {
    const row = this.#row
    if (!row.read(block, start, end)) return false
    const { rows, at } = sink.spills.reserve(end - start + bytesPerRow + bytesPerTurn * (row.turns + 1))
    this.#rows = rows
    this.#at = at
    this.#put(this.#start)
    const messagesAt = this.#at - 1
    if (!this.#putTurns(block.bytes)) return false
    this.#putText(']')
    const id = id128(rows.subarray(messagesAt, this.#at))
    const fate = fateOf(this.spec.seed, id)
    rows.write(id, at + idAt, 'latin1')
    const thinking = decidedThinking(sink.thinkingChoice, this.#rowThinking(block.bytes), fate)
    if (thinking) this.#putText(`,"thinking":"${thinking}"`)
    this.#putText(`,"provenance":${sink.provenanceStart}${rowNumber}`)
    if (!this.#putProvenance(block.bytes, sink)) return false
    this.#putText('}}\n')
    sink.schema(row.schema)
    sink.note('emptyTurnsDropped', this.#emptyTurns)
    sink.note('consecutiveUserTurns', this.#consecutiveUsers)
    sink.spills.commit({ id, group: sink.file, row: rowNumber, weight: 0 }, this.#at - at, fate)
    return true
  }

  /** The system column and the turns but the assistant's; false when something in them needs more than copying. */
  #putTurns(bytes: Buffer): boolean {
    const { system, turns, turnRoles, turnTexts } = this.#row
    this.#emptyTurns = 0
    this.#consecutiveUsers = 0
    let hasSystem = false
    let hasUser = false
    let previous: Message['role'] | undefined
    if (system >= 0) {
      const put = this.#putTurn(bytes, 'system', system, true)
      // Two leading system turns may be one twice, or have to be joined.
      if (put === 'unfit' || (put === 'put' && turnRoles[0] === 'system')) return false
      hasSystem = put === 'put'
    }
    for (let n = 0; n < turns; n++) {
      const role = turnRoles[n] as Message['role']
      if (role === 'assistant') {
        previous = role
        continue
      }
      const text = turnTexts[n] as number
      if (role === 'tool' || (role === 'system' && hasSystem && !hasUser)) return false
      const put = text < 0 ? 'blank' : this.#putTurn(bytes, role, text, !hasSystem && !hasUser)
      if (put === 'unfit') return false
      if (put === 'blank') {
        this.#emptyTurns++
        continue
      }
      if (role === 'user' && previous === 'user') this.#consecutiveUsers++
      if (role === 'user') hasUser = true
      else hasSystem = true
      previous = role
    }
    return hasUser
  }

  #putTurn(bytes: Buffer, role: 'system' | 'user', text: number, isFirst: boolean): 'put' | 'blank' | 'unfit' {
    const { starts, ends, flags } = this.#row.tape
    const flag = flags[text] as number
    const start = starts[text] as number
    const end = ends[text] as number
    const decoded = (flag & tapeFlag.rewritten) === 0 ? undefined : decodedText(bytes, start, end)
    if (decoded === undefined ? isBlankRaw(bytes, start, end) : isBlank(decoded)) return 'blank'
    if (decoded === undefined) {
      if ((flag & tapeFlag.less) !== 0 && hasMediaMarkRaw(bytes, start, end)) return 'unfit'
    } else if (hasMediaMark(decoded) || !isFit(decoded)) {
      return 'unfit'
    }
    if (!isFirst) this.#rows[this.#at++] = comma
    this.#put(turnStart[role])
    if (decoded === undefined) this.#putBytes(bytes, start, end)
    else this.#putText(JSON.stringify(decoded).slice(1, -1))
    this.#put(turnEnd)
    return 'put'
  }

  #rowThinking(bytes: Buffer): Thinking | undefined {
    const { thinking, tape } = this.#row
    if (thinking < 0) return undefined
    const kind = tape.kinds[thinking]
    if (kind === tapeKind.true) return 'on'
    if (kind === tapeKind.false) return 'off'
    if (kind !== tapeKind.string) return undefined
    const text = bytes.toString('latin1', tape.starts[thinking], tape.ends[thinking])
    return text === 'on' || text === 'off' ? text : undefined
  }

  /** In the order and form in which `promptMaker` writes them. */
  #putProvenance(bytes: Buffer, { split }: PieceSink): boolean {
    const { id, carried, tape } = this.#row
    const [ownSplit = -1, license = -1, category = -1, origin = -1] = carried
    if (ownSplit >= 0) this.#putString(bytes, ',"split":"', ownSplit)
    else if (split !== undefined) this.#putText(`,"split":${JSON.stringify(split)}`)
    if (id >= 0 && tape.kinds[id] === tapeKind.string) this.#putString(bytes, ',"id":"', id)
    if (id >= 0 && tape.kinds[id] === tapeKind.number) {
      const digits = bytes.toString('latin1', tape.starts[id], tape.ends[id])
      if (!/^(0|[1-9]\d{0,14})$/.test(digits)) return false
      this.#putText(`,"id":"${digits}"`)
    }
    if (license >= 0) this.#putString(bytes, ',"license":"', license)
    if (category >= 0) this.#putString(bytes, ',"category":"', category)
    if (origin >= 0) this.#putString(bytes, ',"origin":"', origin)
    return true
  }

  #putString(bytes: Buffer, key: string, value: number): void {
    const { starts, ends, flags } = this.#row.tape
    const start = starts[value] as number
    const end = ends[value] as number
    this.#putText(key)
    if (((flags[value] as number) & tapeFlag.rewritten) === 0) this.#putBytes(bytes, start, end)
    else this.#putText(JSON.stringify(decodedText(bytes, start, end)).slice(1, -1))
    this.#rows[this.#at++] = quote
  }

  #put(part: Buffer): void {
    this.#rows.set(part, this.#at)
    this.#at += part.length
  }

  #putBytes(bytes: Buffer, start: number, end: number): void {
    this.#rows.set(bytes.subarray(start, end), this.#at)
    this.#at += end - start
  }

  #putText(text: string): void {
    this.#at += this.#rows.write(text, this.#at, 'utf8')
  }
}

const [comma, quote] = [0x2c, 0x22]

function isFit(text: string): boolean {
  try {
    refuseUnfitText(text)
    return true
  } catch (error) {
    if (error instanceof RowRejected) return false
    throw error
  }
}
