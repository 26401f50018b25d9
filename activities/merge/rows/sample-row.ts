import type { Column } from '../../../domain/columns.ts'
import type { RowFact, RowShape, TurnShape } from '../../../domain/row-shape.ts'
import type { JsonPiece, RawMessage, RawSample } from './raw-sample.ts'

/** Writes samples as rows of a dataset: all its columns in their order, those that we know nothing for null. */
export function sampleRowWriter(shape: RowShape, columns: readonly Column[]) {
  const writers = columnWriters(shape)
  // Columns of the shape that the dataset does not have: only a new dataset lacks them all.
  const missing = [...writers.keys()].filter((name) => !columns.some((column) => column.name === name))
  const names = [...columns.map(({ name }) => name), ...missing]

  /** The row as JSON without its closing brace; undefined when the dataset's columns cannot hold the sample. */
  return function rowOf(sample: RawSample): JsonPiece[] | undefined {
    if (!canHold(sample, shape)) return undefined
    const pieces: JsonPiece[] = []
    names.forEach((name, n) => {
      pieces.push(`${n === 0 ? '{' : ','}${JSON.stringify(name)}:`)
      const write = writers.get(name)
      if (write) write(sample, pieces)
      else pieces.push('null')
    })
    return pieces
  }
}

type Write = (sample: RawSample, pieces: JsonPiece[]) => void

function columnWriters(shape: RowShape): Map<string, Write> {
  const { turns, prompt, answer, answerAs, firstQuestion, system, tools, templateKwargs, facts = {} } = shape
  const writers = new Map<string, Write>()
  if (turns) writers.set(turns.column, turnsWriter(shape, turns))
  for (const column of [prompt, firstQuestion]) if (column !== undefined) writers.set(column, contentWriter('user'))
  if (answer !== undefined) writers.set(answer, answerWriter(answerAs, turns))
  if (system !== undefined) writers.set(system, contentWriter('system'))
  if (tools !== undefined) {
    writers.set(tools.column, ({ bytes, tools: node }, pieces) => {
      if (!node) pieces.push('null')
      else pieces.push(tools.isText ? JSON.stringify(bytes.toString('utf8', node.start, node.end)) : node)
    })
  }
  if (templateKwargs !== undefined) {
    writers.set(templateKwargs.column, ({ templateKwargs: given }, pieces) => {
      const text = given === undefined ? 'null' : JSON.stringify(given)
      pieces.push(templateKwargs.isText && given !== undefined ? JSON.stringify(text) : text)
    })
  }
  for (const [fact, column] of Object.entries(facts) as [RowFact, string][]) {
    writers.set(column, (sample, pieces) => void pieces.push(JSON.stringify(factOf[fact](sample) ?? null)))
  }
  return writers
}

const factOf: Readonly<Record<RowFact, (sample: RawSample) => string | undefined>> = {
  source: ({ source }) => source,
  id: ({ promptId }) => promptId,
  model: ({ model }) => model,
  license: ({ provenance }) => provenance.license,
  category: ({ provenance }) => provenance.category,
  thinking: ({ thinking }) => thinking,
}

function answerWriter(as: RowShape['answerAs'], turns: TurnShape | undefined): Write {
  if (as === undefined || !turns) return contentWriter('assistant')
  const writeTurn = turnWriter(turns)
  return ({ messages }, pieces) => {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') {
      pieces.push('null')
      return
    }
    if (as === 'turns') pieces.push('[')
    writeTurn(last, pieces)
    if (as === 'turns') pieces.push(']')
  }
}

/** Rows of one question and one answer hold nothing longer, and no system turn without a column for it. */
function canHold({ messages, tools }: RawSample, { turns, prompt, system, tools: toolColumn }: RowShape): boolean {
  if (tools && !toolColumn) return false
  if (turns) return true
  const rest = messages.filter(({ role }) => role !== 'system' || system === undefined)
  return prompt !== undefined && rest.map(({ role }) => role).join() === 'user,assistant'
}

function turnsWriter(shape: RowShape, turns: TurnShape): Write {
  const writeTurn = turnWriter(turns)
  const writeList: Write = (sample, pieces) => {
    turnMessages(sample, shape).forEach((message, n) => {
      pieces.push(n === 0 ? '[' : ',')
      writeTurn(message, pieces)
    })
    pieces.push(']')
  }
  if (!turns.isText) return writeList
  return (sample, pieces) => {
    const list: JsonPiece[] = []
    writeList(sample, list)
    pieces.push(JSON.stringify(textOf(list, sample.bytes)))
  }
}

/** The JSON that pieces are together. */
export function textOf(pieces: readonly JsonPiece[], bytes: Buffer): string {
  return pieces
    .map((piece) => (typeof piece === 'string' ? piece : bytes.toString('utf8', piece.start, piece.end)))
    .join('')
}

/** The turns that go into the list: not what has a column of its own. */
function turnMessages({ messages }: RawSample, { system, answer }: RowShape): readonly RawMessage[] {
  const withoutSystem = system !== undefined && messages[0]?.role === 'system' ? messages.slice(1) : messages
  return answer !== undefined && withoutSystem.at(-1)?.role === 'assistant' ? withoutSystem.slice(0, -1) : withoutSystem
}

function turnWriter({ role, content, reasoning = 'reasoning_content', names, keys }: TurnShape) {
  const allKeys = [...new Set([...keys, role, content])]

  return function writeTurn(message: RawMessage, pieces: JsonPiece[]): void {
    const rest: Record<string, unknown> = { ...message.rest }
    if (message.rest.tool_calls) rest.tool_calls = message.rest.tool_calls.map(callWithTextArguments)
    allKeys.forEach((key, n) => {
      pieces.push(`${n === 0 ? '{' : ','}${JSON.stringify(key)}:`)
      if (key === role) pieces.push(JSON.stringify(names[message.role]))
      else if (key === content) pieces.push(message.content)
      else if (key === reasoning) pieces.push(message.reasoning ?? 'null')
      else pieces.push(JSON.stringify(rest[key] ?? null))
      delete rest[key]
    })
    // Keys that the dataset's turns do not have: rather another key than a call of a tool or a thought that is lost.
    if (message.reasoning && !allKeys.includes(reasoning))
      pieces.push(`,${JSON.stringify(reasoning)}:`, message.reasoning)
    for (const [key, value] of Object.entries(rest)) pieces.push(`,${JSON.stringify(key)}:${JSON.stringify(value)}`)
    pieces.push('}')
  }
}

/** Arguments as a text, as OpenAI has them: as objects they would have another type in every row. */
function callWithTextArguments(call: unknown): unknown {
  const inner = (call as { function?: { arguments?: unknown } }).function
  if (!inner || typeof inner.arguments === 'string' || inner.arguments === undefined) return call
  return { ...(call as object), function: { ...inner, arguments: JSON.stringify(inner.arguments) } }
}

function contentWriter(role: RawMessage['role']): Write {
  return ({ messages }, pieces) => {
    // Where a list of turns is left open, the answer is the last one; the others have one of each at most.
    const said = role === 'assistant' ? messages.findLast(has) : messages.find(has)
    pieces.push(said?.content ?? 'null')

    function has(message: RawMessage): boolean {
      return message.role === role
    }
  }
}
