import type { Message, Role, Thinking } from '../../domain/prompt.ts'
import type { Mapping } from '../../domain/spec.ts'
import { RowRejected, shown } from '../row-rejected.ts'
import { contentKeys, idColumns, kwargsColumns, roleKeys, systemColumns, thinkingColumns } from './column-names.ts'
import { InvalidText, isBlank, mediaColumns, refuseMedia, textOf } from './content.ts'
import { parsedJson, templateKwargsOf, toolsOf } from './json-columns.ts'
import { roleTable } from './roles.ts'
import { firstOf, isObject, type Row, valueAt } from './row.ts'
import { fits, type Schema, schemas } from './schemas.ts'

/** What a row says, whatever its schema: all turns in their order, the assistant's included. */
export interface Conversation {
  schema: string
  messages: Message[]
  tools?: unknown[]
  templateKwargs?: Record<string, unknown>
  thinking?: Thinking
  id?: string
  split?: string
  license?: string
  category?: string
  /** Where the row's own `source` column says that it was taken from. */
  origin?: string
}

/** Columns that `conversationReader` looks at. */
export function conversationColumns(mapping: Mapping = {}): Set<string> {
  const named = [mapping.turns, mapping.prompt, mapping.system, mapping.id, mapping.tools].flatMap((path) => path ?? [])
  const known = schemas.flatMap(({ turns, prompt, options }) => [turns ?? [], prompt ?? [], options ?? []].flat())
  const roots = named.map((path) => path.split('.')[0] ?? path)
  return new Set([...named, ...roots, ...known, ...idColumns, ...systemColumns, ...thinkingColumns, ...otherColumns])
}

export interface ConversationReaderOptions {
  readonly mapping?: Mapping
  /** Puts the answers of a multiple-choice question into the order in which they are shown. */
  readonly orderOptions: (question: string, options: string[]) => string[]
}

const otherColumns = [...mediaColumns, ...kwargsColumns, 'tools', 'split', 'license', 'category', 'source']

/** Makes the reader of a source's rows. The reader throws `RowRejected`. */
export function conversationReader({ mapping = {}, orderOptions }: ConversationReaderOptions) {
  const roles = roleTable(mapping.roles)
  const candidates = mappedSchemas(mapping)
  const keys = {
    id: mapping.id ? [mapping.id] : idColumns,
    system: mapping.system ? [mapping.system] : systemColumns,
    role: mapping.role ? [mapping.role] : roleKeys,
    content: mapping.content ? [mapping.content] : contentKeys,
  }

  function turnOf(value: unknown): Message {
    if (!isObject(value)) throw new RowRejected('turns_unreadable', shown(value))
    const named = firstOf(value, keys.role)
    const role = typeof named === 'string' ? roles.get(named.trim().toLowerCase()) : undefined
    if (!role) throw new RowRejected('unknown_role', shown(named ?? null))
    const message: Message = { role, content: textOf(firstOf(value, keys.content)) }
    if (role === 'assistant') carryAssistant(value, message)
    if (role === 'tool' && typeof value.tool_call_id === 'string') message.tool_call_id = value.tool_call_id
    if (role === 'tool' && typeof value.name === 'string') message.name = value.name
    return message
  }

  function promptOf(row: Row, schema: Schema): Message {
    const [first, ...rest] = schema.prompt ?? []
    const texts = [textOf(first === undefined ? '' : valueAt(row, first))]
    for (const column of rest) texts.push(textOf(valueAt(row, column)))
    const asked = texts.filter((text, n) => n === 0 || !isBlank(text)).join('\n\n')
    const options = schema.options?.map((column) => textOf(valueAt(row, column)))
    return { role: 'user', content: options ? withOptions(asked, orderOptions(asked, options)) : asked }
  }

  return function readConversation(row: Row): Conversation {
    refuseMedia(row)
    const schema = candidates.find((candidate) => fits(row, candidate))
    if (!schema) throw noSchema(row, candidates)
    const messages = schema.turns === undefined ? [promptOf(row, schema)] : turnList(row, schema.turns).map(turnOf)
    const conversation: Conversation = { schema: schema.name, messages }
    addSystem(messages, firstOf(row, keys.system))
    carryColumns(row, conversation, keys.id, mapping.tools)
    return conversation
  }
}

/** With a mapping that names turns or a prompt nothing else is tried: guessing on would hide its mistakes. */
function mappedSchemas({ turns, prompt }: Mapping): readonly Schema[] {
  if (turns !== undefined) return [{ name: 'mapping', turns, mayBeJson: true }]
  if (prompt !== undefined) return [{ name: 'mapping', prompt: typeof prompt === 'string' ? [prompt] : prompt }]
  return schemas
}

function turnList(row: Row, column: string): unknown[] {
  const value = valueAt(row, column)
  const list = typeof value === 'string' ? parsedJson(value) : value
  if (!Array.isArray(list)) throw new RowRejected('turns_unreadable', shown(value))
  return list
}

function noSchema(row: Row, candidates: readonly Schema[]): RowRejected {
  for (const { turns, prompt } of candidates) {
    const column = turns ?? prompt?.[0] ?? ''
    const value = valueAt(row, column)
    if (value === undefined || value === null) continue
    if (value instanceof InvalidText) return new RowRejected('invalid_utf8', `the column ${shown(column)}`)
    if (Array.isArray(value)) return new RowRejected('no_user_turn', `an empty list in ${shown(column)}`)
    return new RowRejected(turns ? 'turns_unreadable' : 'content_unreadable', `${shown(column)} holds ${shown(value)}`)
  }
  return new RowRejected('no_known_columns', `the columns ${Object.keys(row).slice(0, 20).map(shown).join(', ')}`)
}

function carryAssistant(turn: Record<string, unknown>, message: Message): void {
  if (typeof turn.reasoning_content === 'string') message.reasoning_content = turn.reasoning_content
  const calls = typeof turn.tool_calls === 'string' ? parsedJson(turn.tool_calls) : turn.tool_calls
  if (Array.isArray(calls) && calls.length > 0) message.tool_calls = calls
}

/** A system column stands before the turns; where the first turn repeats it, once is enough. */
function addSystem(messages: Message[], system: unknown): void {
  if (system === undefined) return
  const content = textOf(system)
  const [first] = messages
  if (!isBlank(content) && !(first?.role === ('system' satisfies Role) && first.content === content)) {
    messages.unshift({ role: 'system', content })
  }
}

function carryColumns(row: Row, conversation: Conversation, idKeys: readonly string[], toolsColumn = 'tools'): void {
  const tools = toolsOf(valueAt(row, toolsColumn))
  if (tools) conversation.tools = tools
  const kwargs = templateKwargsOf(row.chat_template_kwargs ?? row.template_kwargs)
  if (kwargs) conversation.templateKwargs = kwargs
  const thinking = thinkingOf(firstOf(row, thinkingColumns)) ?? thinkingOf(kwargs?.enable_thinking)
  if (thinking) conversation.thinking = thinking
  const id = idText(firstOf(row, idKeys))
  if (id !== undefined) conversation.id = id
  if (typeof row.split === 'string') conversation.split = row.split
  if (typeof row.license === 'string') conversation.license = row.license
  if (typeof row.category === 'string') conversation.category = row.category
  if (typeof row.source === 'string') conversation.origin = row.source
}

function thinkingOf(value: unknown): Thinking | undefined {
  if (value === true || value === 'on') return 'on'
  if (value === false || value === 'off') return 'off'
  return undefined
}

function idText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'number') return undefined
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RowRejected('unsafe_number', 'the id; write it as a string')
  }
  return String(value)
}

function withOptions(question: string, options: string[]): string {
  const lines = options.map((option, n) => `${String.fromCharCode(65 + n)}) ${option}`)
  return `${question}\n\n${lines.join('\n')}`
}
