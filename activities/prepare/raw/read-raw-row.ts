import type { Role } from '../../../domain/prompt.ts'
import {
  contentKeys,
  idColumns,
  kwargsColumns,
  roleKeys,
  systemColumns,
  thinkingColumns,
} from '../../../formats/conversation/column-names.ts'
import { mediaColumns } from '../../../formats/conversation/content.ts'
import { knownRoles } from '../../../formats/conversation/roles.ts'
import { schemas } from '../../../formats/conversation/schemas.ts'
import type { ByteStops } from '../../../formats/raw/byte-stops.ts'
import { JsonTape, tapeKind } from '../../../formats/raw/json-tape.ts'
import { NameTable } from '../../../formats/raw/name-table.ts'

/** Columns that a raw row is read by, and those that it must not have anything in. */
const carriedColumns = ['split', 'license', 'category', 'source'] as const
const unreadColumns = [...mediaColumns, 'tools', ...kwargsColumns]
const columns = new NameTable([
  ...schemas.flatMap(({ turns, prompt = [], options = [] }) => [turns ?? [], prompt, options].flat()),
  ...idColumns,
  ...systemColumns,
  ...thinkingColumns,
  ...carriedColumns,
  ...unreadColumns,
])
const turnKeys = new NameTable([...roleKeys, ...contentKeys])
const roles = new NameTable(Object.keys(knownRoles))
const roleOf = roles.names.map((name) => knownRoles[name] as Role)

const numbersOf = (table: NameTable, names: readonly string[]) => names.map((name) => table.numberOf(name))
const idNumbers = numbersOf(columns, idColumns)
const systemNumbers = numbersOf(columns, systemColumns)
const thinkingNumbers = numbersOf(columns, thinkingColumns)
const carriedNumbers = numbersOf(columns, carriedColumns)
const unreadNumbers = numbersOf(columns, unreadColumns)
const roleNumbers = numbersOf(turnKeys, roleKeys)
const contentNumbers = numbersOf(turnKeys, contentKeys)
const rawSchemas = schemas.map(({ name, turns, mayBeJson, prompt = [], options = [] }) => ({
  name,
  turns: turns === undefined ? -1 : columns.numberOf(turns),
  mayBeJson: mayBeJson === true,
  prompt: prompt[0] === undefined ? -1 : columns.numberOf(prompt[0]),
  others: numbersOf(columns, prompt.slice(1)),
  options: numbersOf(columns, options),
}))

/** Where the parts of a row lie on its tape; -1 where there is none. */
export class RawRow {
  readonly tape = new JsonTape()
  schema = ''
  /** Role and content of each turn; of a single prompt its text. */
  readonly turnRoles: Role[] = []
  readonly turnTexts: number[] = []
  turns = 0
  system = -1
  id = -1
  thinking = -1
  /** In the order split, license, category, source. */
  readonly carried = new Int32Array(carriedNumbers.length)
  readonly #found = new Int32Array(columns.names.length)
  readonly #foundInTurn = new Int32Array(turnKeys.names.length)
  #bytes: Buffer = Buffer.alloc(0)

  /**
   * Reads a row; false when it holds anything that only parsing can deal with. What it reads means the same as what
   * `conversationReader` would have read.
   */
  read(block: ByteStops, start: number, end: number): boolean {
    if (!this.tape.take(block, start, end)) return false
    this.#bytes = block.bytes
    this.#findColumns()
    for (const column of unreadNumbers) if (this.#isThere(this.#found[column] as number)) return false
    this.id = this.#firstOf(this.#found, idNumbers)
    this.thinking = this.#firstOf(this.#found, thinkingNumbers)
    this.system = this.#firstOf(this.#found, systemNumbers)
    if (this.system >= 0 && this.tape.kinds[this.system] !== tapeKind.string) return false
    for (let n = 0; n < carriedNumbers.length; n++) {
      const value = this.#found[carriedNumbers[n] as number] as number
      this.carried[n] = value >= 0 && this.tape.kinds[value] === tapeKind.string ? value : -1
    }
    return this.#readSchema()
  }

  #findColumns(): void {
    const { tape } = this
    this.#found.fill(-1)
    for (let key = 1; key < tape.length; key = tape.nexts[key + 1] as number) {
      const column = columns.find(
        tape.hashes[key] as number,
        this.#bytes,
        tape.starts[key] as number,
        tape.ends[key] as number,
      )
      if (column >= 0) this.#found[column] = key + 1
    }
  }

  #readSchema(): boolean {
    const { kinds, nexts } = this.tape
    for (const { name, turns, mayBeJson, prompt, others, options } of rawSchemas) {
      if (turns >= 0) {
        const list = this.#found[turns] as number
        if (list < 0) continue
        if (mayBeJson && kinds[list] === tapeKind.string) return false
        if (kinds[list] !== tapeKind.array || nexts[list] === list + 1) continue
        this.schema = name
        return this.#readTurns(list)
      }
      const text = this.#found[prompt] as number
      if (text < 0 || kinds[text] !== tapeKind.string) continue
      if (options.length > 0) {
        // Answers have to be put into their order; without them, it is the next schema.
        if (options.every((option) => kinds[this.#found[option] as number] === tapeKind.string)) return false
        continue
      }
      for (const other of others) if (this.#isThere(this.#found[other] as number)) return false
      this.schema = name
      this.turns = 1
      this.turnRoles[0] = 'user'
      this.turnTexts[0] = text
      return true
    }
    return false
  }

  #readTurns(list: number): boolean {
    const { tape } = this
    this.turns = 0
    for (let turn = list + 1; turn < (tape.nexts[list] as number); turn = tape.nexts[turn] as number) {
      if (tape.kinds[turn] !== tapeKind.object) return false
      this.#findInTurn(turn)
      const role = this.#roleAt(this.#firstOf(this.#foundInTurn, roleNumbers))
      const text = this.#firstOf(this.#foundInTurn, contentNumbers)
      // Results of tools carry more than their text.
      if (role === undefined || role === 'tool') return false
      if (text >= 0 && tape.kinds[text] !== tapeKind.string) return false
      this.turnRoles[this.turns] = role
      this.turnTexts[this.turns++] = text
    }
    return true
  }

  #findInTurn(turn: number): void {
    const { tape } = this
    this.#foundInTurn.fill(-1)
    for (let key = turn + 1; key < (tape.nexts[turn] as number); key = tape.nexts[key + 1] as number) {
      const number = turnKeys.find(
        tape.hashes[key] as number,
        this.#bytes,
        tape.starts[key] as number,
        tape.ends[key] as number,
      )
      if (number >= 0) this.#foundInTurn[number] = key + 1
    }
  }

  #roleAt(value: number): Role | undefined {
    const { tape } = this
    if (value < 0 || tape.kinds[value] !== tapeKind.string) return undefined
    const start = tape.starts[value] as number
    const end = tape.ends[value] as number
    const number = roles.findLowerCased(this.#bytes, start, end)
    return number < 0 ? undefined : roleOf[number]
  }

  /** The first of several columns that holds something. */
  #firstOf(found: Int32Array, numbers: readonly number[]): number {
    for (const number of numbers) if (this.#isThere(found[number] as number)) return found[number] as number
    return -1
  }

  #isThere(value: number): boolean {
    if (value < 0) return false
    const { kinds, starts, ends } = this.tape
    if (kinds[value] === tapeKind.null) return false
    return kinds[value] !== tapeKind.string || starts[value] !== ends[value]
  }
}
