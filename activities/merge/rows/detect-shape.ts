import type { Role } from '../../../domain/prompt.ts'
import type { RowFact, RowShape, TurnShape } from '../../../domain/row-shape.ts'
import type { Mapping } from '../../../domain/spec.ts'
import { roleTable } from '../../../formats/conversation/roles.ts'
import { isObject, type Row, valueAt } from '../../../formats/conversation/row.ts'
import { fits, type Schema, schemas } from '../../../formats/conversation/schemas.ts'

/** Columns that hold the answer to a prompt, by the prompt's column; the first that is there is taken. */
const answerColumns: Readonly<Record<string, readonly string[]>> = {
  instruction: ['output', 'response', 'answer', 'completion'],
  prompt: ['completion', 'response', 'answer', 'output'],
  question: ['answer', 'response', 'output', 'correct_answer'],
  problem: ['solution', 'generated_solution', 'answer'],
  Problem: ['Rationale', 'solution'],
  message_1: ['message_2'],
  input: ['output', 'response', 'answer'],
}

/** Lists of turns that end with the question, and where the answer is. */
const openLists: Readonly<Record<string, readonly string[]>> = {
  input: ['output', 'response', 'answer'],
  prompt: ['completion', 'response', 'output', 'answer'],
  conversation: ['generated_message'],
}

/** Columns that say something of a row, by what it is; the first that holds texts is taken. */
const factColumns: Readonly<Record<RowFact, readonly string[]>> = {
  source: ['source'],
  id: ['id', 'uuid', 'prompt_id', 'conversation_id', 'conversation_hash'],
  model: ['model', 'generator'],
  license: ['license'],
  category: ['category'],
  thinking: ['reasoning', 'thinking_mode', 'thinking'],
}

const roleKeys = ['role', 'from', 'speaker']
const contentKeys = ['content', 'value', 'text']
const reasoningKeys = ['reasoning_content', 'reasoning', 'thinking']
const systemColumns = ['system', 'system_prompt']
const kwargsColumns = ['chat_template_kwargs', 'template_kwargs']

/** What each role is called in sets that name turns by `from`, and in all others. */
const shareGptNames: Record<Role, string> = { system: 'system', user: 'human', assistant: 'gpt', tool: 'tool' }
const openAiNames: Record<Role, string> = { system: 'system', user: 'user', assistant: 'assistant', tool: 'tool' }

/**
 * The shape of most of some rows, by the same rules as prompts are read. Undefined when no column is known that could take
 * a question and its answer.
 */
export function detectShape(rows: readonly Row[], mapping: Mapping = {}): RowShape | undefined {
  const candidates = mappedSchemas(mapping)
  const votes = new Map<Schema, Row[]>()
  for (const row of rows) {
    const schema = candidates.find((candidate) => fits(row, candidate))
    if (schema) votes.set(schema, [...(votes.get(schema) ?? []), row])
  }
  const [winner] = [...votes].sort(([, a], [, b]) => b.length - a.length)
  if (!winner) return undefined
  const [schema, fitting] = winner
  const hasColumn = (name: string) => fitting.some((row) => name in row)
  const shape = schema.turns ? turnsOf(fitting, schema.turns, mapping) : promptOf(schema, hasColumn)
  if (!shape) return undefined
  const isTextColumn = (name: string) =>
    hasColumn(name) && fitting.every((row) => typeof (row[name] ?? '') === 'string')
  const columnOf = (names: readonly string[]) => names.find(hasColumn)
  const system = columnOf(mapping.system ? [mapping.system] : systemColumns)
  const tools = columnOf(mapping.tools ? [mapping.tools] : ['tools'])
  const kwargs = columnOf(kwargsColumns)
  const hasFirstQuestion = schema.turns !== undefined && schema.turns !== 'prompt' && isTextColumn('prompt')
  const facts = factsOf(mapping.id ? { ...factColumns, id: [mapping.id] } : factColumns, isTextColumn)
  return {
    ...shape,
    ...(schema.turns !== undefined && answerOf(openLists[schema.turns] ?? [], fitting)),
    ...(hasFirstQuestion && { firstQuestion: 'prompt' }),
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools: { column: tools, isText: isTextColumn(tools) } }),
    ...(kwargs !== undefined && { templateKwargs: { column: kwargs, isText: isTextColumn(kwargs) } }),
    ...(Object.keys(facts).length > 0 && { facts }),
  }
}

function factsOf(columns: Readonly<Record<RowFact, readonly string[]>>, isText: (name: string) => boolean) {
  const facts: Partial<Record<RowFact, string>> = {}
  for (const fact of Object.keys(columns) as RowFact[]) {
    const column = columns[fact].find(isText)
    if (column !== undefined) facts[fact] = column
  }
  return facts
}

/** The column with the answer that a list of turns leaves open. */
function answerOf(columns: readonly string[], rows: readonly Row[]): Pick<RowShape, 'answer' | 'answerAs'> {
  for (const column of columns) {
    const value = rows.map((row) => row[column]).find((said) => said !== null && said !== undefined)
    if (typeof value === 'string') return { answer: column }
    if (Array.isArray(value)) return { answer: column, answerAs: 'turns' }
    if (isObject(value)) return { answer: column, answerAs: 'turn' }
  }
  return {}
}

function mappedSchemas({ turns, prompt }: Mapping): readonly Schema[] {
  if (turns !== undefined) return [{ name: 'mapping', turns }]
  if (prompt !== undefined) return [{ name: 'mapping', prompt: typeof prompt === 'string' ? [prompt] : prompt }]
  return schemas
}

function promptOf({ prompt: [prompt] = [] }: Schema, hasColumn: (name: string) => boolean): RowShape | undefined {
  if (prompt === undefined) return undefined
  const answer = answerColumns[prompt]?.find(hasColumn) ?? answerColumns.prompt?.find(hasColumn)
  return answer === undefined ? undefined : { prompt, answer }
}

function turnsOf(rows: readonly Row[], column: string, mapping: Mapping): RowShape | undefined {
  if (column.includes('.')) return undefined
  const lists = rows.map((row) => valueAt(row, column))
  const isText = lists.every((list) => typeof list === 'string')
  const turns = lists.flatMap((list) => turnObjects(list))
  const keys = [...new Set(turns.flatMap((turn) => Object.keys(turn)))]
  const keyOf = (known: readonly string[]) => known.find((key) => keys.includes(key))
  const role = mapping.role ?? keyOf(roleKeys)
  const content = mapping.content ?? keyOf(contentKeys)
  if (role === undefined || content === undefined) return undefined
  const reasoning = keyOf(reasoningKeys)
  const names = namesOf(turns, role, mapping)
  const shape: TurnShape = { column, isText, role, content, names, keys, ...(reasoning !== undefined && { reasoning }) }
  return { turns: shape }
}

function turnObjects(list: unknown): Record<string, unknown>[] {
  const value = typeof list === 'string' ? parsed(list) : list
  return Array.isArray(value) ? value.filter(isObject) : []
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The name that the rows use most for each role; for roles that they do not have, what sets of their kind say. */
function namesOf(turns: readonly Record<string, unknown>[], key: string, mapping: Mapping): Record<Role, string> {
  const roles = roleTable(mapping.roles)
  const counts = new Map<Role, Map<string, number>>()
  for (const turn of turns) {
    const name = turn[key]
    const role = typeof name === 'string' ? roles.get(name.trim().toLowerCase()) : undefined
    if (typeof name !== 'string' || !role) continue
    const ofRole = counts.get(role) ?? new Map<string, number>()
    counts.set(role, ofRole.set(name, (ofRole.get(name) ?? 0) + 1))
  }
  const usual = key === 'from' ? shareGptNames : openAiNames
  const mostUsed = (role: Role) => [...(counts.get(role) ?? [])].sort(([, a], [, b]) => b - a)[0]?.[0] ?? usual[role]
  return {
    system: mostUsed('system'),
    user: mostUsed('user'),
    assistant: mostUsed('assistant'),
    tool: mostUsed('tool'),
  }
}
