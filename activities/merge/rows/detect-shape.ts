import type { Role } from '../../../domain/prompt.ts'
import type { RowShape, TurnShape } from '../../../domain/row-shape.ts'
import type { Mapping } from '../../../domain/spec.ts'
import { roleTable } from '../../../formats/conversation/roles.ts'
import { isObject, type Row, valueAt } from '../../../formats/conversation/row.ts'
import { fits, type Schema, schemas } from '../../../formats/conversation/schemas.ts'

/** Columns that hold the answer to a prompt, by the prompt's column; the first that is there is taken. */
const answerColumns: Readonly<Record<string, readonly string[]>> = {
  instruction: ['output', 'response', 'answer', 'completion'],
  prompt: ['completion', 'response', 'answer', 'output'],
  question: ['answer', 'response', 'output'],
  problem: ['solution', 'generated_solution', 'answer'],
  Problem: ['Rationale', 'solution'],
  message_1: ['message_2'],
  input: ['output', 'response', 'answer'],
}

const roleKeys = ['role', 'from', 'speaker']
const contentKeys = ['content', 'value', 'text']
const reasoningKeys = ['reasoning_content', 'reasoning', 'thinking']
const systemColumns = ['system', 'system_prompt']
const idColumns = ['id', 'uuid', 'prompt_id', 'conversation_id', 'conversation_hash']

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
  const answer = schema.turns === 'input' ? answerColumns.input?.find(hasColumn) : undefined
  const system = [...(mapping.system ? [mapping.system] : systemColumns)].find(hasColumn)
  const tools = [...(mapping.tools ? [mapping.tools] : ['tools'])].find(hasColumn)
  const isTextColumn = (name: string) => fitting.every((row) => typeof (row[name] ?? '') === 'string')
  const id = [...(mapping.id ? [mapping.id] : idColumns)].find((name) => hasColumn(name) && isTextColumn(name))
  return {
    ...shape,
    ...(answer !== undefined && { answer }),
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools: { column: tools, isText: isTextColumn(tools) } }),
    ...(hasColumn('source') && isTextColumn('source') && { source: 'source' }),
    ...(id !== undefined && { id }),
  }
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
